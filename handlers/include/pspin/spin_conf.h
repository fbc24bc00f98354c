/* PsPIN compatibility: the machine that a handler sees. The scratchpads of all clusters are in memory that every HPU reaches, so the
 * number of clusters is independent of the card. */
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
