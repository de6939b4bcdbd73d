import path from 'node:path';

/** A command as `spawn` takes it without a shell. */
export type Invocation = {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already. */
  readonly verbatim: boolean;
};

/**
 * On Windows npx, npm and many others are batch files, which only cmd.exe can run, and Node refuses to
 * start them without a shell. The command is looked up on the search path as Windows does it; a
 * program is started as it is, a batch file through cmd.exe with every argument quoted for it.
 */
export function onWindows(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  isFile: (file: string) => boolean,
): Invocation {
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

/** What cmd.exe gives a meaning to, even between quotes. */
const special = /([()\][%!^"`<>&|;, *?])/g;

/** Backslashes count only before a quote: https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments */
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
