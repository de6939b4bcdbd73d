/** One line of a log, or the beginning or end of a run. */
export type LogLine = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Number of the run, which counts up. */
  readonly run: number;
  readonly text: string;
  /** The hub wrote it about the server, such as the output of a build. */
  readonly isHubs?: boolean;
  /** The instance of a session that wrote it. Absent: the one that all clients share. */
  readonly instance?: string;
  /** Level of a line of the hub's own log. */
  readonly level?: string;
  /** `text` says how the run ended, or is empty. */
  readonly event?: 'began' | 'ended';
};

/** A line without the number of its run. */
export type NewLine = Omit<LogLine, 'run' | 'event'>;

/** A run of a server, or of the hub. */
export type LogRun = {
  readonly run: number;
  readonly beganAt: number;
  /** Undefined while it runs, and if the hub was killed. */
  readonly endedAt: number | undefined;
  /** How it ended. */
  readonly how: string | undefined;
};

export type LogBounds = {
  /** Number of runs that are kept of each source, the current one included. */
  readonly maxRuns: number;
  /** A run is kept in two files of at most this size each, in bytes; the older one is dropped. */
  readonly maxFileBytes: number;
  /**
   * Maximum characters of lines that wait for the next write, with an overhead for each line. Above it the oldest are
   * dropped and counted.
   */
  readonly maxWaiting: number;
  /** Interval of writes, in ms. */
  readonly writeMs: number;
};

/** At most 2 MiB for each server, and 256 KiB a second. */
export const usualBounds: LogBounds = {
  maxRuns: 8,
  maxFileBytes: 128 * 1024,
  maxWaiting: 64 * 1024,
  writeMs: 250,
};
