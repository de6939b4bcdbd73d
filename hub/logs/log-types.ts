/** A line of a log, or the start or end of a run. */
export type LogLine = {
  /** Time of the line, in milliseconds since the epoch. */
  readonly at: number;
  /** Number of the run, increasing by one. */
  readonly run: number;
  readonly text: string;
  /** True if the hub wrote the line about the server, such as output of an image build. */
  readonly isHubs?: boolean;
  /** Name of the session's instance that wrote the line. Absent: the instance that all clients share. */
  readonly instance?: string;
  /** Level of a line of the hub's own log. */
  readonly level?: string;
  /** Start or end of a run. At an end, `text` is its reason, or empty. */
  readonly event?: 'began' | 'ended';
};

/** A line to be added, without the number of its run. */
export type NewLine = Omit<LogLine, 'run' | 'event'>;

/** A run of a server or of the hub. */
export type LogRun = {
  readonly run: number;
  readonly beganAt: number;
  /** Undefined while the run continues, or if the hub was killed during it. */
  readonly endedAt: number | undefined;
  /** Reason why the run ended. */
  readonly how: string | undefined;
};

export type LogBounds = {
  /** Maximum number of stored runs per source, including the current one. */
  readonly maxRuns: number;
  /** Maximum size of a file, in bytes. A run has at most two files; then the older one is dropped. */
  readonly maxFileBytes: number;
  /**
   * Maximum number of characters that wait for the next write, with an overhead per line. Above it, the oldest lines
   * are dropped and counted.
   */
  readonly maxWaiting: number;
  /** Interval of writes, in ms. */
  readonly writeMs: number;
};

/** Default limits: at most 2 MiB per server, and 256 KiB per second. */
export const usualBounds: LogBounds = {
  maxRuns: 8,
  maxFileBytes: 128 * 1024,
  maxWaiting: 64 * 1024,
  writeMs: 250,
};
