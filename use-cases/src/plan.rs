//! What a run measures: the points of each case, and all of them side by side.

use crate::Arguments;
use anyhow::{bail, Result};
use indicatif::{ProgressBar, ProgressStyle};
use spindle_use_cases::bench::Setting;
use spindle_use_cases::case::{self, Case, Row};
use spindle_use_cases::cost::HostKind;
use spindle_use_cases::figure::{inputs, Declared, Results};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A point of a case, to be measured or kept.
pub struct Job {
    host: HostKind,
    mode: String,
    point: u64,
    kept: Option<Row>,
}

/// A case and its points.
pub struct Plan {
    /// The case.
    pub case: &'static Case,
    /// Its file `figure.toml`.
    pub declared: Declared,
    /// Digest of what its results depend on.
    pub inputs: String,
    /// Its points, in the order of the rows.
    pub jobs: Vec<Job>,
    wire: String,
}

impl Plan {
    /// The points that the arguments ask for.
    ///
    /// # Errors
    /// The case has no such point; a host is unknown; a kept figure is wrong.
    pub fn new(case: &'static Case, setting: &Setting, arguments: &Arguments) -> Result<Plan> {
        let declared = Declared::of(case)?;
        let inputs = inputs(case, &setting.source.files);
        let kept = match Results::load(&arguments.out, case.name)? {
            Some(kept) if arguments.lacking && kept.are_of(&inputs, setting, &declared) => kept.rows,
            _ => Vec::new(),
        };
        let modes: Vec<&str> = match &arguments.mode {
            Some(mode) => vec![mode],
            None => case.modes.iter().map(|mode| mode.name).collect(),
        };
        let points = match arguments.size {
            Some(point) if declared.points.contains(&point) => vec![point],
            Some(point) => {
                let points: Vec<_> = declared.points.iter().map(u64::to_string).collect();
                bail!("{} has no point {point}; there are {}", case.name, points.join(", "))
            }
            None if arguments.quick => declared.quick.clone(),
            None => declared.points.clone(),
        };
        let hosts = match &arguments.host {
            Some(host) => vec![HostKind::by_name(host)?],
            None if arguments.figure => {
                declared.hosts.iter().map(|host| HostKind::by_name(host)).collect::<Result<Vec<_>>>()?
            }
            None => vec![HostKind::by_name(&declared.drawn)?],
        };
        let mut jobs = Vec::new();
        for host in hosts {
            let compares = arguments.figure && host.name() != declared.drawn;
            let points = if compares { declared.compared.as_ref().unwrap_or(&points) } else { &points };
            for mode in &modes {
                jobs.extend(points.iter().map(|point| {
                    let same = |row: &&Row| row.host == host.name() && row.mode == **mode && row.point == *point;
                    Job { host, mode: mode.to_string(), point: *point, kept: kept.iter().find(same).cloned() }
                }));
            }
        }
        let wire = arguments.wire.clone().unwrap_or_else(|| declared.wire.clone());
        Ok(Plan { case, declared, inputs, jobs, wire })
    }

    fn measure(&self, job: &Job, setting: &Setting) -> Result<Row> {
        if let Some(row) = &job.kept {
            return Ok(row.clone());
        }
        let setting = Setting { host: job.host, wire: self.wire.clone(), ..setting.clone() };
        case::measure(self.case, &setting, &job.mode, job.point)
    }
}

/// Rows of the plans that have not ended.
struct Rows {
    rows: Vec<Vec<Option<Row>>>,
    failed: Option<anyhow::Error>,
}

/// Measures the points of all plans, as many at a time as there are processors. A case whose last point is there is handed to
/// `ended` with its rows in their order, while others go on. After an error nothing new begins.
///
/// # Errors
/// The first one, of a point or of `ended`.
pub fn measure(plans: &[Plan], setting: &Setting, ended: impl Fn(&Plan, Vec<Row>) -> Result<()> + Sync) -> Result<()> {
    let jobs: Vec<(usize, usize)> =
        plans.iter().enumerate().flat_map(|(plan, p)| (0..p.jobs.len()).map(move |job| (plan, job))).collect();
    let style = ProgressStyle::with_template("{prefix} {pos} of {len} {wide_bar} {msg}, {eta} left")?;
    let progress = ProgressBar::new(jobs.len() as u64).with_style(style);
    let rows = plans.iter().map(|plan| vec![None; plan.jobs.len()]).collect();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Rows { rows, failed: None }));
    let worker = || {
        while let Some((number, place)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let plan = &plans[*number];
            let job = &plan.jobs[*place];
            progress.set_prefix(plan.case.name);
            progress.set_message(format!("{} at {}, host {}", job.mode, job.point, job.host.name()));
            let row = plan.measure(job, setting);
            progress.inc(1);
            // Locked until the case is written, so that tables do not mix.
            let mut rows = locked(&rows);
            let outcome = row.and_then(|row| {
                rows.rows[*number][*place] = Some(row);
                let all: Option<Vec<Row>> = rows.rows[*number].iter().cloned().collect();
                all.map_or(Ok(()), |all| progress.suspend(|| ended(plan, all)))
            });
            if let Err(error) = outcome {
                next.store(jobs.len(), Ordering::Relaxed);
                rows.failed.get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    progress.finish_and_clear();
    rows.into_inner().unwrap_or_else(PoisonError::into_inner).failed.map_or(Ok(()), Err)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
