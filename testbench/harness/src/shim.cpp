// The C face of a Verilated model: ports by pointer, evaluation, clocking and waves.
//
// Compiled together with the generated C++ of one model. PORT_TABLE and PORT_POINTERS are generated from the model's
// header. Errors of the model ($fatal, a combinational loop that does not settle) become C++ exceptions here and
// return codes at the border; they never end the process.

#include <cstdint>
#include <stdexcept>
#include <string>

#if VM_TRACE
#include <unistd.h>

// The text of a wave goes into a pipe; the harness reads it there, selects signals and writes the file.
class SpindlePipe final : public VerilatedVcdFile {
    const int fd;

public:
    explicit SpindlePipe(int fd) : fd{fd} {}
    bool open(const std::string&) override { return true; }
    void close() override {}
    ssize_t write(const char* bytes, ssize_t count) override { return ::write(fd, bytes, count); }
};
#endif

struct SpindlePort {
    const char* name;
    uint32_t width;
    uint32_t output;
};

// When a wave is recorded, in cycles from `from` to before `until`, and its time: cycle `origin` begins at 0, a cycle
// takes `period` picoseconds.
struct SpindleWindow {
    uint64_t from;
    uint64_t until;
    uint64_t origin;
    uint64_t period;
};

struct SpindleModel {
    VerilatedContext context;
    Vdut* model = nullptr;
#if VM_TRACE
    VerilatedVcdC* wave = nullptr;
    SpindlePipe* pipe = nullptr;
#endif
    SpindleWindow window;
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

// `count` cycles: settle, rising edge, falling edge. The rising edge, which ends a cycle, is in its middle in a wave.
EXPORT int spindle_ticks(SpindleModel* self, uint8_t* clock, uint64_t count) {
    return guarded(self, [&] {
        for (uint64_t i = 0; i < count; i++) {
#if VM_TRACE
            const SpindleWindow& window = self->window;
            const bool records = self->wave && self->cycle >= window.from && self->cycle < window.until;
            const uint64_t time = (self->cycle - window.origin) * window.period;
            if (records) {
                self->model->eval();
                self->wave->dump(time);
            }
#endif
            *clock = 1;
            self->model->eval();
#if VM_TRACE
            if (records) self->wave->dump(time + window.period / 2);
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
        delete self->pipe;
        self->wave = nullptr;
        self->pipe = nullptr;
    }
#else
    (void)self;
#endif
}

// Writes the header of a wave into the pipe `fd`, and then what happens in `window`. The pipe stays the caller's.
EXPORT int spindle_wave_open(SpindleModel* self, int fd, const SpindleWindow* window) {
#if VM_TRACE
    spindle_wave_close(self);
    return guarded(self, [&] {
        self->window = *window;
        self->pipe = new SpindlePipe{fd};
        self->wave = new VerilatedVcdC{self->pipe};
        self->wave->set_time_unit("1ps");
        self->wave->set_time_resolution("1ps");
        self->model->trace(self->wave, 99);
        self->wave->open("wave");
        self->wave->flush();
    });
#else
    (void)fd;
    (void)window;
    self->error = "this model was built without wave recording; build it with BuildOptions { trace: true }";
    return 1;
#endif
}

EXPORT void spindle_free(SpindleModel* self) {
    spindle_wave_close(self);
    // The destructor of a model uses the context of its thread, which is the last one made if the thread has made none:
    // the context of another model, and perhaps one that is gone.
    Verilated::threadContextp(&self->context);
    if (self->model) guarded(self, [&] { self->model->final(); });
    delete self->model;
    Verilated::threadContextp(Verilated::defaultContextp());
    delete self;
}
