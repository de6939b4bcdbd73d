import { win32 } from 'node:path';

export type CommandLine = { readonly command: string; readonly args: readonly string[] };

/** Package launchers with their subcommands, and the launcher whose options they share. */
const launchers = [
  ['npm exec', 'npx'],
  ['npm x', 'npx'],
  ['pnpm dlx', 'npx'],
  ['pnpx', 'npx'],
  ['yarn dlx', 'npx'],
  ['bun x', 'npx'],
  ['bunx', 'npx'],
  ['npx', 'npx'],
  ['uv tool run', 'uvx'],
  ['pipx run', 'uvx'],
  ['uvx', 'uvx'],
  ['docker', 'docker'],
  ['podman', 'docker'],
] as const;

/**
 * Converts a command line to the equivalent for npx, uvx or docker, and removes parts that depend on the machine: the
 * program's folder, `.exe`, and `cmd /c` on Windows.
 */
export function plainLine({ command, args }: CommandLine): CommandLine {
  const name = nameOf(command);
  const [first = '', ...rest] = args;
  if (name === 'cmd' && /^\/c$/i.test(first)) {
    const [inner, ...others] = rest;
    return inner === undefined ? { command, args } : plainLine({ command: inner, args: others });
  }
  for (const [words, as] of launchers) {
    const [program, ...verbs] = words.split(' ');
    const left = program === name ? withoutVerbs(args, verbs) : undefined;
    if (!left) continue;
    return { command: as, args: as === 'npx' && name !== 'npx' ? toNpxArgs(left) : left };
  }
  return { command, args };
}

/** Removes the subcommands, which only options may precede; undefined if one is missing. */
function withoutVerbs(args: readonly string[], verbs: readonly string[]) {
  return verbs.reduce<readonly string[] | undefined>((left, verb) => {
    const at = left?.findIndex(arg => !arg.startsWith('-')) ?? -1;
    return left?.[at] === verb ? left.toSpliced(at, 1) : undefined;
  }, args);
}

/** npx asks before it installs a package. Without a terminal nobody can answer, so `-y` is added. */
function toNpxArgs(args: readonly string[]): readonly string[] {
  const end = args.findIndex(arg => arg === '--' || !arg.startsWith('-'));
  const plain = args[end] === '--' ? args.toSpliced(end, 1) : args;
  return ['-y', ...plain.filter((arg, at) => at >= end || !['-y', '--yes'].includes(arg))];
}

const nameOf = (command: string) =>
  win32
    .basename(command)
    .replace(/\.(?:exe|cmd|bat)$/i, '')
    .toLowerCase();
