import { type DestinationStream, pino } from 'pino';
import type { Log } from '#core';
import { type Redaction, redactFields, shapesOnly } from './redact.ts';

export type LogOptions = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** One JSON object a line, or lines for a person to read. */
  readonly format: 'json' | 'pretty';
};

/** A log and the way to its end. */
export type OpenLog = {
  readonly log: Log;
  /** Writes out what waits, for at most a second: a reader that has stopped reading is not waited for. */
  close(): Promise<void>;
};

/** Lines that wait for a reader are kept up to this many bytes; then lines are lost, and counted. */
const maxWaitingBytes = 4 * 1024 * 1024;
const closeMs = 1_000;

/**
 * Opens the hub's log on a stream, which is stderr: stdout stays free for what a command answers. A
 * terminal that is held and a collector that is stuck never hold the hub.
 */
export async function openLog(
  options: LogOptions,
  stream: NodeJS.WriteStream & { readonly fd: number },
  redaction: Redaction = shapesOnly,
): Promise<OpenLog> {
  const lines = stream.isTTY ? behindATerminal(stream.fd) : behindAPipe(stream);
  const log = createLog(options, await format(options.format, lines), redaction);
  return {
    log,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, closeMs);
      lines.whenWritten(resolve);
      await promise;
      clearTimeout(timer);
    },
  };
}

type Lines = DestinationStream & { whenWritten(then: () => void): void };

/** Node writes to a terminal in the foreground, so that one that is held would hold the hub. */
function behindATerminal(descriptor: number): Lines {
  const destination = pino.destination({
    dest: descriptor,
    sync: false,
    maxLength: maxWaitingBytes,
  });
  destination.on('error', () => {});
  return {
    write: line => destination.write(line),
    whenWritten: then => destination.flush(() => then()),
  };
}

/** Node writes to a pipe in the background, and keeps what is not read for as long as it takes. */
function behindAPipe(stream: NodeJS.WriteStream): Lines {
  let lost = 0;
  return {
    write(line) {
      if (stream.writableLength + line.length > maxWaitingBytes) {
        lost++;
        return;
      }
      if (lost > 0) stream.write(`{"level":"warn","lines":${lost},"msg":"lines were lost"}\n`);
      lost = 0;
      stream.write(line);
    },
    whenWritten: then => stream.write('', () => then()),
  };
}

/**
 * The hub's log on a stream. Credentials are kept out of it, wherever they stand in what is logged: in
 * fields, in messages and in the stacks of errors.
 */
export function createLog(
  options: LogOptions,
  stream: DestinationStream,
  redaction: Redaction = shapesOnly,
): Log {
  const withoutSecrets = (fields: object) => redactFields(fields, redaction);
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: label => ({ level: label }),
        log: withoutSecrets,
      },
      hooks: {
        logMethod([fields, message], write) {
          write.call(this, fields, redaction.text(message ?? ''));
        },
      },
    },
    stream,
  );
}

async function format(
  how: LogOptions['format'],
  destination: DestinationStream,
): Promise<DestinationStream> {
  if (how === 'json') return destination;
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return { write: line => destination.write(String(pretty(JSON.parse(line)))) };
}
