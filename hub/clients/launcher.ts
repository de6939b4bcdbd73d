import { win32 } from 'node:path';

/** A program and its arguments. */
export type CommandLine = { readonly command: string; readonly args: readonly string[] };

/** Lines that do what another does which the hub takes as a package. */
const alike: readonly {
  readonly words: readonly string[];
  readonly as: readonly [string, ...string[]];
}[] = [
  { words: ['npm', 'exec', '--yes', '--'], as: ['npx', '-y'] },
  { words: ['npm', 'exec', '-y', '--'], as: ['npx', '-y'] },
  { words: ['npm', 'exec', '--'], as: ['npx', '-y'] },
  { words: ['npm', 'exec'], as: ['npx', '-y'] },
  { words: ['pnpm', 'dlx'], as: ['npx', '-y'] },
  { words: ['yarn', 'dlx'], as: ['npx', '-y'] },
  { words: ['bunx', '-y'], as: ['npx', '-y'] },
  { words: ['bunx'], as: ['npx', '-y'] },
  { words: ['bun', 'x'], as: ['npx', '-y'] },
  { words: ['npx'], as: ['npx'] },
  { words: ['uv', 'tool', 'run'], as: ['uvx'] },
  { words: ['pipx', 'run'], as: ['uvx'] },
  { words: ['uvx'], as: ['uvx'] },
  { words: ['docker'], as: ['docker'] },
  { words: ['podman'], as: ['docker'] },
];

/** The same line without what only this machine needs: the folder of a program, `.exe`, `cmd /c` of Windows. */
export function plainLine({ command, args }: CommandLine): CommandLine {
  const name = nameOf(command);
  const [first = '', ...rest] = args;
  if (name === 'cmd' && /^\/c$/i.test(first)) {
    const [inner, ...others] = rest;
    return inner === undefined ? { command, args } : plainLine({ command: inner, args: others });
  }
  const found = alike.find(({ words }) =>
    words.every((word, index) => word === (index === 0 ? name : args[index - 1])),
  );
  if (!found) return { command, args };
  const [program, ...options] = found.as;
  return { command: program, args: [...options, ...args.slice(found.words.length - 1)] };
}

const nameOf = (command: string) =>
  win32
    .basename(command)
    .replace(/\.(?:exe|cmd|bat)$/i, '')
    .toLowerCase();
