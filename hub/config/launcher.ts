import { win32 } from 'node:path';

/** A program and its arguments. */
export type CommandLine = { readonly command: string; readonly args: readonly string[] };

/** Launchers of packages, with the words that make them one, and whose options they share. */
const alike: readonly { readonly words: readonly [string, ...string[]]; readonly as: string }[] = [
  { words: ['npm', 'exec'], as: 'npx' },
  { words: ['npm', 'x'], as: 'npx' },
  { words: ['pnpm', 'dlx'], as: 'npx' },
  { words: ['pnpx'], as: 'npx' },
  { words: ['yarn', 'dlx'], as: 'npx' },
  { words: ['bun', 'x'], as: 'npx' },
  { words: ['bunx'], as: 'npx' },
  { words: ['npx'], as: 'npx' },
  { words: ['uv', 'tool', 'run'], as: 'uvx' },
  { words: ['pipx', 'run'], as: 'uvx' },
  { words: ['uvx'], as: 'uvx' },
  { words: ['docker'], as: 'docker' },
  { words: ['podman'], as: 'docker' },
];

/**
 * The same line by npx, uvx or docker, where another launcher has the same effect, and without what only this
 * machine needs: the folder of the program, `.exe`, `cmd /c` of Windows.
 */
export function plainLine({ command, args }: CommandLine): CommandLine {
  const name = nameOf(command);
  const [first = '', ...rest] = args;
  if (name === 'cmd' && /^\/c$/i.test(first)) {
    const [inner, ...others] = rest;
    return inner === undefined ? { command, args } : plainLine({ command: inner, args: others });
  }
  for (const { words, as } of alike) {
    const [program, ...verbs] = words;
    const left = program === name ? withoutVerbs(args, verbs) : undefined;
    if (!left) continue;
    return { command: as, args: as === 'npx' && name !== 'npx' ? asOfNpx(left) : left };
  }
  return { command, args };
}

/** The arguments without the verbs, which stand behind options only; undefined where one is missing. */
function withoutVerbs(
  args: readonly string[],
  verbs: readonly string[],
): readonly string[] | undefined {
  return verbs.reduce<readonly string[] | undefined>((left, verb) => {
    const at = left?.findIndex(arg => !arg.startsWith('-')) ?? -1;
    return left?.[at] === verb ? left.toSpliced(at, 1) : undefined;
  }, args);
}

/** npx asks before it installs anything, and nobody could answer. */
function asOfNpx(args: readonly string[]): readonly string[] {
  const end = args.findIndex(arg => arg === '--' || !arg.startsWith('-'));
  const plain = args[end] === '--' ? args.toSpliced(end, 1) : args;
  return ['-y', ...plain.filter((arg, at) => at >= end || !['-y', '--yes'].includes(arg))];
}

const nameOf = (command: string) =>
  win32
    .basename(command)
    .replace(/\.(?:exe|cmd|bat)$/i, '')
    .toLowerCase();
