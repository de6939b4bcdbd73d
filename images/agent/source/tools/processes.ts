import { type ChildProcess, spawn } from 'node:child_process';
import { z } from 'zod';
import type { AgentTool } from '../types.ts';
import { defineTool } from './tool.ts';
import { ToolError, workspace } from './workspace.ts';

const maxOutputBytes = 64 * 1024;
/** Maximum length of a command line in bytes: that of an argument of a process on Linux (execve(2), MAX_ARG_STRLEN). */
const maxCommandBytes = 128 * 1024 - 1;
/** Default timeout of a call in seconds. */
export const usualSeconds = 120;

/**
 * Environment variables of the HTTP proxy, through which the container reaches its network. Empty without a network.
 */
const proxy = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY'].flatMap(name => {
    const value = process.env[name];
    if (value === undefined) return [];
    return [name, name.toLowerCase()].map(one => [one, value] as const);
  }),
);

/** Sentence about the network in the descriptions of tools, for the model. */
export const networkNote =
  'HTTPS_PROXY' in proxy
    ? 'The network is reached through the proxy of HTTPS_PROXY, and only as far as it is granted.'
    : 'There is no network.';

/** Environment of every child process. Of the agent's own environment it contains the proxy only. */
const environment = {
  ...proxy,
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
};

/**
 * Arguments of sh that start a process which the kernel kills before the agent when the container runs out of memory.
 * Child processes inherit this (proc(5), oom_score_adj).
 */
const expendable = ['-c', 'echo 1000 > /proc/self/oom_score_adj; exec "$@"', 'sh'] as const;

/** Kills the process group of a child process. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group has already ended.
  }
}

/** Creates a buffer for the output of a process, which keeps the first `maxOutputBytes` bytes. */
function createOutput() {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk: Buffer): void {
      if (bytes < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - bytes));
      bytes += chunk.length;
    },
    get text(): string {
      const cut = bytes > maxOutputBytes ? `\n[${bytes - maxOutputBytes} more bytes were cut]` : '';
      return `${Buffer.concat(chunks).toString()}${cut}`;
    },
  };
}

type ShellRun = {
  readonly folder: string;
  readonly command: string;
  /** Stdin of the command. Undefined: /dev/null, because some programs read a pipe instead of their folder. */
  readonly input?: string;
  readonly seconds: number;
  readonly signal: AbortSignal;
};

/** Runs a command line in a folder. Kills its process group after `seconds`, and when the turn is cancelled. */
export async function runShell({ folder, command, input, seconds, signal }: ShellRun) {
  const output = createOutput();
  const child = spawn('/bin/sh', [...expendable, '/bin/bash', '-c', command], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  child.stdin?.on('error', () => undefined); // The command has ended without reading its input.
  child.stdin?.end(input);
  child.stdout?.on('data', (chunk: Buffer) => output.add(chunk));
  child.stderr?.on('data', (chunk: Buffer) => output.add(chunk));
  child.once('error', error => resolve(`cannot be started: ${error.message}`));
  child.once('exit', (code, by) => {
    // Background processes of the command would keep the pipes open.
    killGroup(child);
    setTimeout(() => resolve(by ? `ended by ${by}` : `exit code ${code}`), 20);
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child);
  }, seconds * 1000);
  const stop = () => killGroup(child);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const ending = await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', stop);
  child.stdout?.destroy();
  child.stderr?.destroy();
  const status = isLate
    ? `it was stopped after ${seconds} seconds. Run it in parts, or with fewer data`
    : ending;
  return { text: `${output.text}\n[${status}]`.trimStart(), isError: status !== 'exit code 0' };
}

/**
 * Python program that reads programs from stdin, one JSON string per line, and runs them in one namespace. Their child
 * processes do not inherit its stdin and stdout: they write to a file in memory, which is read after each program.
 */
const replServer = `
import ast, contextlib, io, json, os, sys, traceback
calls = os.fdopen(os.dup(0))
out = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
space = {"__name__": "__main__"}
for line in calls:
    code = json.loads(line)
    text = io.StringIO()
    failed = False
    started = os.memfd_create("output")
    os.dup2(started, 1)
    os.dup2(started, 2)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<python_repl>", "exec"), space)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<python_repl>", "eval"), space)
                if value is not None:
                    print(repr(value))
        except BaseException:
            failed = True
            traceback.print_exc()
    whole = text.getvalue().encode(errors="replace")
    size = len(whole) + os.fstat(started).st_size
    shown = (whole + os.pread(started, ${maxOutputBytes}, 0))[:${maxOutputBytes}].decode(errors="replace")
    os.close(started)
    if size > ${maxOutputBytes}:
        shown += f"\\n[{size - ${maxOutputBytes}} more bytes were cut]"
    out.write(json.dumps({"text": shown, "failed": failed}) + "\\n")
    out.flush()
`;

/**
 * Creates a function that runs code in a Python process, whose variables remain until a call times out or is cancelled.
 */
function createPython(folder: string) {
  let child: ReturnType<typeof start> | undefined;
  /** Result of the last call. Calls run one at a time: answers have no id, and the runtime makes calls concurrently. */
  let last: Promise<unknown> = Promise.resolve();

  function start() {
    const started = spawn('/bin/sh', [...expendable, 'python3', '-c', replServer], {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    started.once('exit', () => {
      killGroup(started);
      if (child === started) child = undefined;
    });
    started.once('error', () => undefined); // `exit` or a late answer follows.
    started.stdin.on('error', () => undefined);
    return started;
  }

  function stop(): void {
    if (child) killGroup(child);
    child = undefined;
  }

  /** Runs code in the Python process, and resolves with its output or an error text. Never rejects. */
  async function run(code: string, seconds: number, signal: AbortSignal) {
    if (signal.aborted) return { text: 'it was cancelled', isError: true };
    const running = (child ??= start());
    const { promise, resolve } = Promise.withResolvers<{ text: string; isError: boolean }>();
    const fail = (text: string) => resolve({ text, isError: true });
    let answer = '';
    const read = (chunk: Buffer) => {
      answer += chunk.toString();
      if (answer.length > 8 * maxOutputBytes) stop();
      const end = answer.indexOf('\n');
      if (end === -1) return;
      const { text, failed } = JSON.parse(answer.slice(0, end));
      resolve({ text: String(text) || '(no output)', isError: failed === true });
    };
    const ended = () =>
      fail('Python has ended, and its variables are gone. The next call starts it again');
    const abort = () => {
      stop();
      fail('it was cancelled');
    };
    const timer = setTimeout(() => {
      stop();
      fail(
        `it was stopped after ${seconds} seconds, and its variables are gone. Compute less at once`,
      );
    }, seconds * 1000);
    running.stdout.on('data', read);
    running.once('exit', ended);
    signal.addEventListener('abort', abort);
    running.stdin.write(`${JSON.stringify(code)}\n`);
    const result = await promise;
    clearTimeout(timer);
    running.stdout.off('data', read);
    running.off('exit', ended);
    signal.removeEventListener('abort', abort);
    return result;
  }

  return (...call: Parameters<typeof run>): ReturnType<typeof run> => {
    const result = last.then(() => run(...call));
    last = result;
    return result;
  };
}

/** Creates the tools `shell` and `python_repl`, which run in a folder. `seconds` returns the timeout of a call. */
export function createProcessTools(
  seconds: () => number,
  folder = workspace,
): readonly AgentTool[] {
  const python = createPython(folder);
  return [
    defineTool(
      'shell',
      `Runs a command line with bash in ${folder}. ${networkNote} Returns its output and exit code.`,
      z.strictObject({ command: z.string().min(1) }),
      async ({ command }, signal) => {
        if (command.includes('\0')) throw new ToolError('command: contains a null character');
        const bytes = Buffer.byteLength(command);
        if (bytes > maxCommandBytes)
          throw new ToolError(
            `command: has ${bytes} bytes; at most ${maxCommandBytes} can be run. Write the long part into a file with file_write, and use the file in the command`,
          );
        return await runShell({ folder, command, seconds: seconds(), signal });
      },
    ),
    defineTool(
      'python_repl',
      'Runs Python 3.13. Variables are kept from call to call. Returns what it prints, and the value of the last expression.',
      z.strictObject({ code: z.string().min(1) }),
      async ({ code }, signal) => await python(code, seconds(), signal),
    ),
  ];
}
