/* A binomial tree in C++, with the interface of the sPIN paper (`--portals`): each node of the tree puts every packet of a message on to
 * its children. The host sets `spin_state` to two words: the rank of this node, and how many nodes there are. Ranks are numbers in the node
 * table. */
namespace {

/* The ranks below one of them: rank + 2^i for each 2^i below the lowest bit of rank. */
class Children {
    uint32_t rank_, distance_, nodes_;

  public:
    Children(uint32_t rank, uint32_t nodes, uint32_t first) : rank_(rank), distance_(first), nodes_(nodes) {}
    Children begin() const { return *this; }
    Children end() const { return Children(rank_, nodes_, 0); }
    bool operator!=(const Children &) const {
        return distance_ != 0 && (rank_ & distance_) == 0 && rank_ + distance_ < nodes_;
    }
    Children &operator++() {
        distance_ = distance_ << 1;
        return *this;
    }
    uint32_t operator*() const { return rank_ + distance_; }
};

struct State {
    uint32_t rank, nodes;
};

} // namespace

__handler int tree_payload_handler(const ptl_payload_t p, void *state) {
    const auto *tree = static_cast<const State *>(state);
    const auto *task = spin_task();
    const auto match_bits = ptl_match_bits_t{task->addr_hi} << 32 | task->addr_lo;
    /* A packet that was put on is a message of its own, which begins at its place in the buffer. */
    const ptl_size_t place = task->buf_off + p.offset;
    for (uint32_t child : Children(tree->rank, tree->nodes, 1)) {
        PtlHandlerPutFromDevice(p.base, p.length, PTL_LOCAL_ME_CT, PTL_NO_ACK_REQ, child, match_bits, place, nullptr, 0);
    }
    spin_place(); /* this node keeps the packet, too */
    return SUCCESS;
}
