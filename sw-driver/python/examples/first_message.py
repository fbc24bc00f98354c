import sys

import numpy as np
import spindle

# Two cards on one wire, such as those that `spindle serve --link` joins.
with spindle.open(sys.argv[1], node=0) as sender, spindle.open(sys.argv[2], node=1) as receiver:
    received = np.asarray(receiver.alloc(4096)).view(np.uint32)
    window = receiver.window(0x77, key=99, threshold=received.nbytes)
    window.post(received)
    sender.put(np.arange(1024, dtype=np.uint32), node=1, address=0x77, key=99).wait(timeout=60)
    print(window.wait(timeout=60).status, received.sum())
