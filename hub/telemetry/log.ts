import { type DestinationStream, pino } from 'pino';
import { type Clock, type Log, createEmitter } from '#core';
import { type Redaction, redactFields, shapesOnly } from './redact.ts';

type LogOptions = {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `json` writes one object per line. `pretty` is for reading in a terminal. */
  readonly format: 'json' | 'pretty';
};

/** Maximum size of buffered lines, in bytes. Further lines are dropped and counted. */
const maxWaitingBytes = 4 * 1024 * 1024;
const closeMs = 1_000;

/** Opens the hub's log on stderr, because stdout carries the output of commands. Writing never blocks the hub. */
export async function openLog(
  options: LogOptions,
  stream: NodeJS.WriteStream & { readonly fd: number },
  clock: Pick<Clock, 'after'>,
  redaction: Redaction = shapesOnly,
) {
  const lines = stream.isTTY ? terminalLines(stream.fd) : pipeLines(stream);
  const shown = await format(options.format, lines);
  const written = createEmitter<string>(() => {});
  const write = (line: string) => {
    shown.write(line);
    written.fire(line);
  };
  const log = createLog(options, { write }, redaction);
  return {
    log,
    /** Fires with each line as redacted JSON. */
    written: written.event,
    /** Flushes buffered lines for at most one second, as the reader may have stopped reading. */
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _timer = clock.after(closeMs, resolve);
      lines.onFlushed(resolve);
      await promise;
    },
  };
}

type Lines = DestinationStream & { onFlushed(then: () => void): void };

/** Writes asynchronously: Node's own writes to a terminal are synchronous, so a paused terminal would block the hub. */
function terminalLines(dest: number): Lines {
  const destination = pino.destination({ dest, sync: false, maxLength: maxWaitingBytes });
  destination.on('error', () => {});
  return {
    write: line => destination.write(line),
    onFlushed: then => destination.flush(() => then()),
  };
}

/** Drops lines above the limit: Node writes to a pipe asynchronously, but buffers without a limit. */
function pipeLines(stream: NodeJS.WriteStream): Lines {
  let lost = 0;
  return {
    write(line) {
      if (stream.writableLength + line.length > maxWaitingBytes) {
        lost++;
        return;
      }
      if (lost > 0) stream.write(`{"level":"warn","lines":${lost},"msg":"log lines were lost"}\n`);
      lost = 0;
      stream.write(line);
    },
    onFlushed: then => stream.write('', () => then()),
  };
}

/** Creates the hub's log on a stream. Redacts secrets in fields, in messages and in the stacks of errors. */
export function createLog(
  options: LogOptions,
  stream: DestinationStream,
  redaction: Redaction = shapesOnly,
): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: label => ({ level: label }),
        log: fields => redactFields(fields, redaction),
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

async function format(how: LogOptions['format'], destination: DestinationStream) {
  if (how === 'json') return destination;
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return { write: (line: string) => destination.write(String(pretty(JSON.parse(line)))) };
}
