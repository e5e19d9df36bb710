// The metrics of park statistics and what they mean: docs/metrics.md, "Park statistics".

/** Column titles and explanations. */
export const PARK_WORDS = {
  times: ["parks", "How often threads parked on this blocker."],
  now: ["now", "How many threads were still parked on this blocker when the recording ended."],
  peak: ["peak", "The most threads that were parked on this blocker at the same time."],
  threadTime: ["thread time", "Time parked on this blocker, all threads added up."],
  realTime: ["real time", "Time in which at least one thread was parked on this blocker. Empty if several threads parked and parks were sampled: then it is not known which parks overlapped."],
  averagePark: ["avg park", "Mean length of a park: thread time / number of parks."],
  averageHold: ["avg hold", "Real time / number of parks that ended. For a lock on which threads always wait, it estimates how long each owner has it; for a semaphore, how long no permit is available. For a queue or a condition, it says nothing about an owner."],
  realUse: ["real / run", "Real time / time in which parks were recorded. 100 %: at every moment, at least one thread was parked on this blocker."],
  threadUse: ["thread / run", "Thread time / time in which parks were recorded. 300 %: three threads were parked on this blocker on average. Of the blockers that are not idle, the one with the highest value is probably the bottleneck."],
  realLifeUse: ["real / life", "Real time / time from the first to the last park or return on this blocker. A single park always has 100 %, however short it is."],
  threadLifeUse: ["thread / life", "Thread time / time from the first to the last park or return on this blocker. 300 %: three threads were parked on it on average in that time."],
} as const satisfies Record<string, readonly [title: string, why: string]>;
