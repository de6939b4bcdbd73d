import path from 'node:path';

export type Invocation = {
  readonly command: string;
  readonly args: readonly string[];
  /** True if the arguments are already quoted. */
  readonly verbatim: boolean;
};

/**
 * Resolves a command in the search path like Windows. Programs are started directly. Batch files, such as npx and npm,
 * are started through cmd.exe with quoted arguments, because Node refuses to start them without a shell.
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

/** Characters that are special in cmd.exe, even within quotes. */
const special = /([()\][%!^"`<>&|;, *?])/g;

/** Backslashes are special only before a quote: https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments */
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
