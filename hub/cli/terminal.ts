import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters, styleText } from 'node:util';
import { encodingFault } from '#config';
import { type Clock, HubError } from '#core';
import type { TerminalStream } from './screen/terminal-output.ts';
import { asJson, usageError } from './values.ts';

type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly fd?: number;
};

type TerminalStreams = {
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
};

/** Colour or weight of text. */
export type TextStyle = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

const escape = '\u001b';
/** Terminal code that returns to the start of the line and clears it. */
const clearLine = `\r${escape}[K`;

/** Input and output of a command. Texts are whole lines without their line break. */
export type Io = ReturnType<typeof createIo>;

/** Creates the Io of a command from the process's streams. A broken stream does not end the command. */
export function createIo(
  { stdin, stdout, stderr }: TerminalStreams,
  /** Signal that aborts when the user or the system ends the command. */
  signal: AbortSignal,
  clock: Clock,
) {
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
    out: (text: string) => write(stdout, text),
    err: (text: string) => write(stderr, text),
    /** Prints a document for scripts. Returns the exit code of success. */
    json: (value: unknown): 0 => {
      write(stdout, asJson(value));
      return 0;
    },
    remark: (kind: 'note' | 'warning', text: string) =>
      write(stderr, `${errorScreen.paint('yellow', kind)}: ${text}`),
    /** Shows a status line that the next output replaces. Does nothing without a terminal. */
    progress: (text: string): void => {
      if (!errorScreen.isTerminal) return;
      const line = errorScreen.foreign(text).replaceAll('\n', ' ');
      const shown = cut(line, (errorScreen.columns ?? line.length + 1) - 1);
      stderr.write(`${clearLine}${errorScreen.paint('dim', shown)}`);
      isShowing = true;
    },
    /** The terminal or pipe behind `out`. */
    screen: createScreen(stdout),
    /** The terminal or pipe behind `err`. */
    errorScreen,
    /**
     * Reads all of stdin, without the byte order mark that editors and shells of Windows write before it. Rejects with
     * HUB_USAGE if it is not UTF-8.
     */
    async input(): Promise<string> {
      const bytes = Buffer.concat(await Array.fromAsync(stdin, chunk => Buffer.from(chunk)));
      const fault = encodingFault(bytes);
      if (fault !== undefined) throw usageError(`stdin: ${fault}`);
      return bytes.toString().replace(/^\uFEFF/, '');
    },
    /** The terminal of `out` and `err`; undefined if one of them is a pipe or a file. */
    terminal: terminalOf(stdout, stderr),
    signal,
    /** Aborts when the reader of `out` is gone, for example at the end of a pipe to `head`. */
    unread: unread.signal,
    clock,
  };
}

function terminalOf(stdout: Output, stderr: Output): TerminalStream | undefined {
  const { fd } = stdout;
  if (fd === undefined || stdout.isTTY !== true || stderr.isTTY !== true) return undefined;
  return {
    fd,
    get columns() {
      return stdout.columns ?? 0;
    },
    get rows() {
      return stdout.rows ?? 0;
    },
    on: (event, listener) => stdout.on(event, listener),
    off: (event, listener) => stdout.off(event, listener),
  };
}

/** Output properties of a stream: terminal or pipe. */
export type Screen = ReturnType<typeof createScreen>;

function createScreen(stream: Output) {
  const isTerminal = stream.isTTY === true;
  return {
    isTerminal,
    /** Width of a line in characters; undefined for a pipe. A terminal that does not know its width reports 0. */
    get columns(): number | undefined {
      return (isTerminal && stream.columns) || undefined;
    },
    /** Colours the text if the stream supports it. Honours NO_COLOR and FORCE_COLOR. */
    paint: (style: TextStyle, text: string) => styleText(style, text, { stream }),
    /**
     * Cleans text from another source. On a terminal, removes control characters: a server could otherwise move the
     * cursor and overwrite earlier output.
     */
    foreign: (text: string) => (isTerminal ? harmless(text) : text),
  };
}

/** Control characters, and characters that change the text direction. */
const controls = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu;

const harmless = (text: string) => stripVTControlCharacters(text).replaceAll(controls, '');

/** Shortens the text to a number of characters. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return length < 1 ? '' : `${text.slice(0, Math.max(0, length - 1)).trimEnd()}…`;
}

/**
 * Asks a question and resolves with the next line of input. Rejects with HUB_CALL_CANCELLED if the input ends, for
 * example by Ctrl-D: an empty line may accept a default, but the end of the input must not. A hidden answer is not shown
 * on the terminal.
 */
export type Ask = (
  question: string,
  signal: AbortSignal,
  mode?: 'shown' | 'hidden',
) => Promise<string>;

type TerminalInput = Readable & { setRawMode(isRaw: boolean): unknown };

const inputEnded = () =>
  new HubError('HUB_CALL_CANCELLED', 'cancelled, because the input ended before an answer');

/**
 * Converts the end of the input to an empty answer, for questions that an empty line declines. Throws other errors.
 */
export function emptyAtEnd(error: unknown): string {
  if (error instanceof HubError && error.code === 'HUB_CALL_CANCELLED') return '';
  throw error;
}

export function createAsk(input: TerminalInput, output: NodeJS.WritableStream): Ask {
  return async (question, signal, mode = 'shown') => {
    // A stream that has already ended does not emit `end` again.
    if (input.readableEnded) throw inputEnded();
    if (mode === 'hidden') return await askHidden(question, signal, input, output);
    const { createInterface } = await import('node:readline/promises');
    // `terminal: false` keeps the terminal in its normal mode, so that Ctrl-C ends the command.
    const lines = createInterface({ input, output, terminal: false });
    const { promise: ended, reject } = Promise.withResolvers<string>();
    lines.once('close', () => reject(inputEnded()));
    try {
      return await Promise.race([lines.question(question, { signal }), ended]);
    } finally {
      lines.close();
    }
  };
}

async function askHidden(
  question: string,
  signal: AbortSignal,
  input: TerminalInput,
  output: NodeJS.WritableStream,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const read = createHiddenReader();
  const take = (chunk: Buffer) => {
    try {
      const answer = read(chunk);
      if (answer !== undefined) resolve(answer);
    } catch (error) {
      reject(error);
    }
  };
  const cancel = () => reject(signal.reason);
  const end = () => reject(inputEnded());
  // Set raw mode before the question, because answers can arrive right after it.
  input.setRawMode(true);
  output.write(question);
  input.on('data', take).once('end', end);
  // Resume the input, which the previous question has paused: adding a listener does not.
  input.resume();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    signal.removeEventListener('abort', cancel);
    input.off('data', take).off('end', end);
    input.setRawMode(false);
    input.pause();
    output.write('\n');
  }
}

/**
 * Creates a function that takes typed input, and returns the answer when it is complete. Throws HUB_USAGE for several
 * pasted lines, because the shell would run the later ones, and for keys other than characters.
 */
function createHiddenReader() {
  const decoder = new StringDecoder('utf8');
  let answer = '';
  return (chunk: Buffer): string | undefined => {
    const keys = decoder.write(chunk);
    for (const [at, key] of Array.from(keys).entries()) {
      if (key === interrupt)
        throw new HubError('HUB_CALL_CANCELLED', 'cancelled. Nothing was changed');
      if (key === endOfInput) return answer;
      if (key === '\r' || key === '\n') {
        if (Array.from(keys).slice(at).join('').trim() === '') return answer;
        throw usageError(
          'the value has several lines, but a prompt reads only one. Nothing was changed. Write it into a file, and read that: agenthub secret set NAME < file',
        );
      }
      if (erasers.includes(key)) answer = answer.replace(/.$/su, '');
      else if (key < ' ' && key !== '\t')
        throw usageError(
          'the input contains a control character, such as that of an arrow key. Nothing was changed',
        );
      else answer += key;
    }
    return undefined;
  };
}

/** Codes of Ctrl-C and Ctrl-D, and the two codes of the backspace key. */
const interrupt = '\u0003';
const endOfInput = '\u0004';
const erasers: readonly string[] = ['\u0008', '\u007f'];
