import { stripVTControlCharacters, styleText } from 'node:util';
import type { Io } from './command.ts';
import { type Screen, cut } from './screen.ts';

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export type TerminalStreams = {
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
};

const escape = '\u001b';
/** Returns to the start of the line and clears it. */
const clearLine = `\r${escape}[K`;

/** Creates the Io of a command from the process's streams. A broken stream does not end the command. */
export function createIo({ stdin, stdout, stderr }: TerminalStreams, signal: AbortSignal): Io {
  const unread = new AbortController();
  const errorScreen = createScreen(stderr);
  let isShowing = false;

  stdout.on('error', () => unread.abort());
  stderr.on('error', () => {});

  function write(stream: Output, text: string): void {
    if (isShowing) stderr.write(clearLine);
    isShowing = false;
    stream.write(`${text}\n`);
  }

  return {
    out: text => write(stdout, text),
    err: text => write(stderr, text),
    progress(text) {
      if (!errorScreen.isTerminal) return;
      const line = errorScreen.foreign(text).replaceAll('\n', ' ');
      const shown = cut(line, (errorScreen.columns ?? line.length + 1) - 1);
      stderr.write(`${clearLine}${errorScreen.paint('dim', shown)}`);
      isShowing = true;
    },
    screen: createScreen(stdout),
    errorScreen,
    async input() {
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks).toString();
    },
    signal,
    unread: unread.signal,
  };
}

function createScreen(stream: Output): Screen {
  const isTerminal = stream.isTTY === true;
  return {
    isTerminal,
    // A terminal that does not know its width reports 0.
    get columns() {
      return (isTerminal && stream.columns) || undefined;
    },
    paint: (style, text) => styleText(style, text, { stream }),
    foreign: text => (isTerminal ? harmless(text) : text),
  };
}

const harmless = (text: string) => stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]/gu, '');
