/** What the hub asks of a logger: the narrow part of pino's interface that rooms use. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: Record<string, string>): Log;
}

/** A log that keeps nothing, for tests and for parts that are run alone. */
export const silent: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silent,
};
