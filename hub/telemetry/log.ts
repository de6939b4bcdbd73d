import { type DestinationStream, pino } from 'pino';
import type { Log } from '#core';

export type LogOptions = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** One JSON object a line, or lines for a person to read. */
  readonly format: 'json' | 'pretty';
};

/** Fields that may hold a credential, wherever they stand in what is logged. */
const secretFields = ['authorization', 'token', 'password', 'secret', 'env', 'headers', 'cookie'];

/** The hub's log on stderr, or on another stream: stdout stays free for what a command answers. */
export async function createLog(options: LogOptions, stream?: DestinationStream): Promise<Log> {
  const log: Log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: secretFields.flatMap(field => [field, `*.${field}`]), censor: '[redacted]' },
    },
    stream ?? (await openStream(options.format)),
  );
  return log;
}

async function openStream(format: LogOptions['format']): Promise<DestinationStream> {
  const stderr = pino.destination({ dest: 2, sync: true });
  if (format === 'json') return stderr;
  const { default: pretty } = await import('pino-pretty');
  return pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', singleLine: true });
}
