// The C face of a Verilated model: ports by pointer, evaluation, clocking and waves.
//
// Compiled together with the generated C++ of one model. PORT_TABLE and PORT_POINTERS are generated from the model's
// header. Errors of the model ($fatal, a combinational loop that does not settle) become C++ exceptions here and
// return codes at the border; they never end the process.

#include <cstdint>
#include <stdexcept>
#include <string>

struct SpindlePort {
    const char* name;
    uint32_t width;
    uint32_t output;
};

struct SpindleModel {
    VerilatedContext context;
    Vdut* model = nullptr;
#if VM_TRACE
    VerilatedVcdC* wave = nullptr;
#endif
    uint64_t cycle = 0;
    std::string error;
};

static const SpindlePort ports[] = {PORT_TABLE{nullptr, 0, 0}};

// The runtime is compiled with VL_USER_FATAL, so this is its only way to give up.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(file ? file : "") + ":" + std::to_string(line) + ": "
                             + (message ? message : "fatal error"));
}

template <class Body>
static int guarded(SpindleModel* self, Body body) {
    try {
        body();
        return 0;
    } catch (const std::exception& error) {
        self->error = error.what();
    } catch (...) {
        self->error = "unknown C++ exception";
    }
    return 1;
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const SpindlePort* spindle_ports() { return ports; }

// `random`: registers and memories start from pseudo-random bits that depend on `seed` alone; else from zero.
EXPORT SpindleModel* spindle_new(int random, int seed) {
    auto* self = new SpindleModel;
    guarded(self, [&] {
        self->context.randReset(random ? 2 : 0);
        self->context.randSeed(seed);
#if VM_TRACE
        self->context.traceEverOn(true);
#endif
        self->model = new Vdut{&self->context, "TOP"};
    });
    return self;
}

EXPORT const char* spindle_error(SpindleModel* self) { return self->error.c_str(); }

EXPORT int spindle_ready(SpindleModel* self) { return self->model != nullptr; }

EXPORT void* spindle_port(SpindleModel* self, uint32_t index) {
    switch (index) {
        PORT_POINTERS
    }
    return nullptr;
}

EXPORT int spindle_eval(SpindleModel* self) {
    return guarded(self, [&] { self->model->eval(); });
}

// `count` cycles: settle, rising edge, falling edge. A cycle takes 10 units of wave time and its rising edge, which
// ends it, falls on the fifth.
EXPORT int spindle_ticks(SpindleModel* self, uint8_t* clock, uint64_t count) {
    return guarded(self, [&] {
        for (uint64_t i = 0; i < count; i++) {
#if VM_TRACE
            if (self->wave) {
                self->model->eval();
                self->wave->dump(10 * self->cycle);
            }
#endif
            *clock = 1;
            self->model->eval();
#if VM_TRACE
            if (self->wave) self->wave->dump(10 * self->cycle + 5);
#endif
            *clock = 0;
            self->model->eval();
            self->cycle++;
        }
    });
}

EXPORT uint64_t spindle_cycle(SpindleModel* self) { return self->cycle; }

EXPORT int spindle_finished(SpindleModel* self) { return self->context.gotFinish(); }

EXPORT void spindle_wave_close(SpindleModel* self) {
#if VM_TRACE
    if (self->wave) {
        guarded(self, [&] { self->wave->close(); });
        delete self->wave;
        self->wave = nullptr;
    }
#else
    (void)self;
#endif
}

EXPORT int spindle_wave_open(SpindleModel* self, const char* path) {
#if VM_TRACE
    spindle_wave_close(self);
    return guarded(self, [&] {
        self->wave = new VerilatedVcdC;
        self->model->trace(self->wave, 99);
        self->wave->open(path);
        if (!self->wave->isOpen()) {
            delete self->wave;
            self->wave = nullptr;
            throw std::runtime_error("cannot be written");
        }
    });
#else
    (void)path;
    self->error = "this model was built without wave recording; build it with BuildOptions { trace: true }";
    return 1;
#endif
}

EXPORT void spindle_wave_flush(SpindleModel* self) {
#if VM_TRACE
    if (self->wave) self->wave->flush();
#else
    (void)self;
#endif
}

EXPORT void spindle_free(SpindleModel* self) {
    spindle_wave_close(self);
    if (self->model) guarded(self, [&] { self->model->final(); });
    delete self->model;
    delete self;
}
