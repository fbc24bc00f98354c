/* PsPIN compatibility: the machine that a handler is told of. The scratchpads of all clusters are memory that every HPU reaches, so the
 * number of clusters is the handlers' own, whatever the card has. */
#ifndef SPINDLE_PSPIN_SPIN_CONF_H
#define SPINDLE_PSPIN_SPIN_CONF_H

#ifndef NB_CLUSTERS
#ifdef SPINDLE_FPSPIN
#define NB_CLUSTERS 2
#else
#define NB_CLUSTERS 4
#endif
#endif
#ifndef NB_CORES
#define NB_CORES 8
#endif
#define CORE_COUNT (NB_CLUSTERS * NB_CORES)
#define NUM_CLUSTER_HPUS NB_CORES

#ifndef PKT_SIZE
#define PKT_SIZE 1024
#endif

#endif
