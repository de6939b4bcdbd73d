import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import path from 'node:path';
import { HubError, errorCodeOf, messageOf } from '#core';
import { type LaunchSpec, type ProcessTarget, type Runtime, throwIfCancelled } from '#runtimes';
import { type InstanceNeeds, createInstance } from './instance.ts';

type ProcessRuntimeOptions = {
  /** Environment of the hub. Servers inherit only its search path, home, temporary folder and locale. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names of further variables to inherit, without secrets, such as `NODE_EXTRA_CA_CERTS`. */
  readonly alsoInherited?: readonly string[];
  readonly platform: NodeJS.Platform;
};

/** Runs servers as child processes, each in a process group that ends with the hub. The servers are not isolated. */
export function createProcessRuntime(
  options: ProcessRuntimeOptions,
  needs: InstanceNeeds,
): Runtime {
  const { platform } = options;
  return {
    kind: 'process',
    async probe() {
      return { healthy: true, detail: 'servers run as processes of this machine, not isolated' };
    },
    async launch(spec, events, signal) {
      const { server, target } = spec;
      if (target.kind !== 'process')
        throw new HubError('HUB_INTERNAL', `${server} is not a process but ${target.kind}`);
      throwIfCancelled(spec, signal);
      refuseMissingFolder(server, target);
      const child = await start(spec, target, options);
      const { command } = target;
      const about = { ...spec, command, platform };
      const instance = createInstance(child, about, events, needs);
      if (signal.aborted) await instance.stop({ graceMs: 0 });
      throwIfCancelled(spec, signal);
      return instance;
    },
  };
}

async function start(
  spec: LaunchSpec,
  target: ProcessTarget,
  { environment, platform, alsoInherited }: ProcessRuntimeOptions,
): Promise<ChildProcessWithoutNullStreams> {
  const env = environmentOf(environment, spec.env, platform, alsoInherited);
  const { command, args, verbatim } =
    platform === 'win32'
      ? onWindows(target.command, target.args, env, isFile)
      : { command: target.command, args: target.args, verbatim: false };
  try {
    const child = spawn(command, args, {
      env,
      cwd: target.workingDirectory,
      // In a group of its own: a stop must reach the children of the server, and a Ctrl-C for the hub must not.
      detached: platform !== 'win32',
      windowsHide: true,
      windowsVerbatimArguments: verbatim,
      stdio: 'pipe',
    });
    await once(child, 'spawn');
    return child;
  } catch (error) {
    throw startError(spec.server, target.command, error);
  }
}

function startError(server: string, command: string, error: unknown): HubError {
  const code = errorCodeOf(error);
  if (code === 'ENOENT')
    return new HubError('HUB_COMMAND_MISSING', `${server}: ${missing(command)}`, { cause: error });
  const isForbidden = code === 'EACCES' || code === 'EPERM';
  // Node's message contains the invalid argument, which may be a secret.
  const detail =
    code === 'ERR_INVALID_ARG_VALUE' ? 'an argument holds a null byte' : messageOf(error);
  const problem = isForbidden
    ? 'may not be executed. Make the file executable, or name another command'
    : `cannot be started: ${detail}`;
  return new HubError('HUB_LAUNCH_INVALID', `${server}: "${command}" ${problem}`, { cause: error });
}

const remedies: Readonly<Record<string, string>> = {
  npx: 'It comes with Node: install Node from https://nodejs.org',
  node: 'Install Node from https://nodejs.org',
  uvx: 'It comes with uv: install it from https://docs.astral.sh/uv/',
  docker: 'Install Docker, or use "image" and let the hub run the container',
};

function missing(command: string): string {
  if (/[\\/]/.test(command))
    return `"${command}" does not exist, or the interpreter in its first line does not. Mend "command"`;
  return `"${command}" was not found on the PATH. ${remedies[command] ?? 'Install it, or give its full path as "command"'}`;
}

function refuseMissingFolder(server: string, { workingDirectory }: ProcessTarget): void {
  if (workingDirectory === undefined) return;
  const found = statSync(workingDirectory, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  throw new HubError(
    'HUB_LAUNCH_INVALID',
    `${server}: the working directory "${workingDirectory}" ${found ? 'is not a folder' : 'does not exist'}. Create it or mend "cwd"`,
  );
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

const inherited = /^(?:PATH|HOME|TMPDIR|LANG|LC_.*)$/s;
/** Additional variables that programs on Windows require. */
const inheritedOnWindows =
  /^(?:APPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROCESSOR_ARCHITECTURE|PROGRAMFILES|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP|USERPROFILE|WINDIR)$/;

/**
 * Returns the environment of a server: search path, home, temporary folder and locale of the hub, the names in `also`,
 * and the variables of its entry. No other variables are inherited, as the environment of the hub contains secrets.
 */
export function environmentOf(
  base: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
  also: readonly string[] = [],
): Record<string, string> {
  const isWindows = platform === 'win32';
  // Names are case-insensitive on Windows, where the behaviour of duplicates is undefined.
  const keyOf = (name: string) => (isWindows ? name.toUpperCase() : name);
  const given = new Set(Object.keys(own).map(keyOf));
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    const key = keyOf(name);
    const isInherited =
      inherited.test(key) || (isWindows && inheritedOnWindows.test(key)) || also.includes(name);
    if (value !== undefined && isInherited && !given.has(key)) environment[name] = value;
  }
  return { ...environment, ...own };
}

/**
 * Resolves a command in the search path as Windows does. Programs are started directly. Batch files, such as npx and
 * npm, are started through cmd.exe with quoted arguments, because Node refuses to start them without a shell.
 */
export function onWindows(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  isFile: (file: string) => boolean,
) {
  const file = findCommand(command, environment, isFile);
  if (file === undefined || !/\.(?:cmd|bat)$/i.test(file))
    return { command: file ?? command, args, verbatim: false };
  const line = [path.win32.normalize(file).replace(special, '^$1'), ...args.map(quoted)].join(' ');
  return {
    command: lookUp(environment, 'ComSpec') ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${line}"`],
    verbatim: true,
  };
}

/** Characters that are special in cmd.exe, even within quotes. */
const special = /([()\][%!^"`<>&|;, *?])/g;

/**
 * Quotes an argument. Backslashes are special only before a quote:
 * https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments
 */
function quoted(argument: string): string {
  const escaped = argument.replace(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\*)$/, '$1$1');
  return `"${escaped}"`.replace(special, '^$1');
}

function findCommand(
  command: string,
  environment: Readonly<Record<string, string>>,
  isFile: (file: string) => boolean,
): string | undefined {
  const extensions = (lookUp(environment, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';');
  const named = path.win32.extname(command) === '' ? extensions : ['', ...extensions];
  const folders = /[\\/]/.test(command) ? [''] : (lookUp(environment, 'PATH') ?? '').split(';');
  return folders
    .flatMap(folder => named.map(extension => path.win32.join(folder, command + extension)))
    .find(isFile);
}

function lookUp(environment: Readonly<Record<string, string>>, name: string): string | undefined {
  const upper = name.toUpperCase();
  return Object.entries(environment).find(([key]) => key.toUpperCase() === upper)?.[1];
}
