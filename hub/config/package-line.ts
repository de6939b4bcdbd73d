import { win32 } from 'node:path';
import {
  type PackageSpec,
  findExtra,
  nameOfPackage,
  npmPackage,
  pypiPackage,
} from './package-spec.ts';

/** Package that a launcher's command line runs; or the reason why the line cannot become a package, with the remedy. */
export type PackageLine =
  | { readonly package: PackageSpec; readonly args: readonly string[]; readonly program?: string }
  | { readonly why: string };

const wordsOf = (text: string) => text.split(' ');

/** Known options of the package launchers. Any other option is refused by name. */
const launchers = {
  npx: {
    /** Options that do not change what runs. */
    switches: wordsOf(
      '-y --yes -q --quiet -s --silent -d --verbose --bun --prefer-offline --prefer-online --no-audit --no-fund --ignore-existing',
    ),
    /** Options whose value is ignored. */
    ignored: ['--loglevel', '--cache'],
    /** Options with a value, mapped to the name under which `read` returns it. */
    valued: new Map([
      ['-p', 'package'],
      ['--package', 'package'],
    ]),
  },
  uvx: {
    switches: wordsOf(
      '-q --quiet -qq -v --verbose -n --no-cache --no-cache-dir --isolated --refresh -U --upgrade --no-progress --no-config --native-tls --system-certs --managed-python --no-managed-python --no-python-downloads --no-env-file --no-build --preview',
    ),
    ignored: ['--color', '--cache-dir', '--python-preference', '--link-mode'],
    valued: new Map([
      ['--from', 'from'],
      // The option `--spec` of pipx has the meaning of `--from`.
      ['--spec', 'from'],
      ['-w', 'with'],
      ['--with', 'with'],
      ['-p', 'python'],
      ['--python', 'python'],
    ]),
  },
};

/** Remedies for some of the refused options. All others get a common remedy. */
const remedies: Readonly<Record<string, string>> = {
  '-c': 'Write the program and its arguments in the command line instead',
  '--call': 'Write the program and its arguments in the command line instead',
  '--with-requirements': 'List each package of that file with --with',
  '--env-file': 'Write the variables of that file to "env"',
};
const elsewhere =
  'set "image" to an image that holds the program, or "runtime": "process" to run the command line on this machine without a sandbox';

/** Parses a command line. Returns undefined if the command is not a package launcher. */
export function findPackageLine(command: string, args: readonly string[]): PackageLine | undefined {
  if (command === 'npx' || command === 'npx.cmd') return npxLine(args);
  return command === 'uvx' || command === 'uvx.exe' ? uvxLine(args) : undefined;
}

function npxLine(args: readonly string[]): PackageLine {
  const line = read('npx', args);
  if (line.why !== undefined) return line;
  const { first, rest } = line;
  const named = line.found.get('package') ?? [];
  if (named.length === 0) {
    const found = npmPackage(first);
    return found ? { package: found, args: rest } : notInstallable('npm', first);
  }
  if (!isProgram(first)) return { why: `${JSON.stringify(first)} is not the name of a program` };
  const packages = named.flatMap(written => npmPackage(written) ?? []);
  const main = packages.find(one => bareName(one) === first) ?? packages[0];
  if (!main || packages.length < named.length)
    return notInstallable('npm', named.find(written => !npmPackage(written)) ?? '');
  const others = packages.filter(one => one !== main).map(({ spec }) => spec);
  return withProgram({ ...main, ...(others.length > 0 && { with: others }) }, first, rest);
}

function uvxLine(args: readonly string[]): PackageLine {
  const line = read('uvx', args);
  if (line.why !== undefined) return line;
  const { first, rest } = line;
  const written = line.found.get('from')?.at(-1) ?? first;
  const [, name = '', extra, version = ''] = /^([\w.-]+)(\[[\w,.-]+\])?([^]*)$/.exec(written) ?? [];
  const found = pypiPackage(`${name}${version}`);
  if (!found) return notInstallable('pypi', written);
  const extras: string[] = extra === undefined ? [] : [`${name}${extra}`];
  for (const text of (line.found.get('with') ?? []).flatMap(splitList)) {
    const one = findExtra('pypi', text);
    if (one === undefined) return notInstallable('pypi', text);
    extras.push(one);
  }
  const wanted = line.found.get('python')?.at(-1);
  const python = wanted === undefined ? undefined : pythonVersion(wanted);
  if (wanted !== undefined && python === undefined)
    return { why: `--python ${JSON.stringify(wanted)} is not a version. Write one such as 3.13` };
  const source: PackageSpec = {
    ...found,
    ...(extras.length > 0 && { with: extras }),
    ...(python !== undefined && { python }),
  };
  // Without `--from`, the first word is the package, and the program has the same name.
  if (!line.found.has('from')) return { package: source, args: rest };
  return isProgram(first)
    ? withProgram(source, first, rest)
    : { why: `${JSON.stringify(first)} is not the name of a program` };
}

/** Adds the program to the result, unless it has the package's name. */
function withProgram(source: PackageSpec, program: string, args: readonly string[]): PackageLine {
  const isOwn = normal(bareName(source)) === normal(program);
  return { package: source, args, ...(!isOwn && { program }) };
}

/** Separates a launcher's own options from the remaining arguments. */
function read(launcher: keyof typeof launchers, args: readonly string[]) {
  const { switches, ignored, valued } = launchers[launcher];
  const found = new Map<string, string[]>();
  let at = 0;
  for (; args[at]?.startsWith('-') && args[at] !== '--'; at += 1) {
    const arg = args[at] ?? '';
    if (switches.includes(arg)) continue;
    const [, option = arg, inline] = /^(--[^=]+)=([^]*)$/.exec(arg) ?? [];
    const key = valued.get(option);
    if (key === undefined && !ignored.includes(option))
      return {
        why: `the option ${JSON.stringify(option)} of "${launcher}" has no equivalent in an image. ${remedies[option] ?? `Remove it, ${elsewhere}`}`,
      };
    const value = inline ?? args[(at += 1)];
    if (value === undefined) return { why: `a value is missing after ${JSON.stringify(option)}` };
    if (key !== undefined) found.set(key, [...(found.get(key) ?? []), value]);
  }
  const [first, ...rest] = args.slice(args[at] === '--' ? at + 1 : at);
  return first === undefined
    ? { why: `the "${launcher}" line names no program to run. Add the name of the package` }
    : { found, first, rest };
}

function notInstallable(ecosystem: PackageSpec['ecosystem'], written: string) {
  const registry = ecosystem === 'npm' ? 'npm' : 'PyPI';
  const isRange = /^(?:@[\w.-]+\/)?[\w.-]+\s*(?:@?[\^~<>*]|!=)/.test(written);
  const form = ecosystem === 'npm' ? '@org/server@1.2.3' : 'name==1.0';
  const remedy = isRange
    ? `Write one version, such as ${form}`
    : `Name a release that ${registry} has, such as ${form}, ${elsewhere}`;
  return {
    // Remove the user and password of a URL.
    why: `${JSON.stringify(written.replace(/\/\/[^@/]*@/, '//…@'))} is not the name of a package of ${registry}. The hub installs only those: no git repositories, URLs, folders or ranges. ${remedy}`,
  };
}

/** Splits `a,b[x,y]` at commas outside of brackets, as uv does. */
const splitList = (text: string) =>
  text
    .split(/,(?![^[]*\])/)
    .map(part => part.trim())
    .filter(part => part !== '');

/** Converts `3.12`, `3.12.4`, `python3.12` and `cpython@3.12` to a Python version. */
const pythonVersion = (text: string) =>
  /^(?:python|cpython[@-]|py)?(3\.\d{1,2}(?:\.\d{1,2})?)$/.exec(text)?.[1];

/** True for the name of a program without a folder. */
export const isProgram = (text: string) => /^\w[\w.-]{0,100}$/.test(text);
const bareName = (source: PackageSpec) => nameOfPackage(source).replace(/^@[^/]*\//, '');
const normal = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, '-');

export type CommandLine = { readonly command: string; readonly args: readonly string[] };

/** Package launchers with their subcommands, each with the launcher (npx, uvx or docker) that has the same options. */
const commands = [
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
 * Converts a command line to the equivalent for npx, uvx or docker. Removes the program's folder, `.exe` and `cmd /c`.
 */
export function plainLine({ command, args }: CommandLine): CommandLine {
  const name = nameOf(command);
  const [first = '', ...rest] = args;
  if (name === 'cmd' && /^\/c$/i.test(first)) {
    const [inner, ...others] = rest;
    return inner === undefined ? { command, args } : plainLine({ command: inner, args: others });
  }
  for (const [words, as] of commands) {
    const [program, ...verbs] = words.split(' ');
    const left = program === name ? withoutVerbs(args, verbs) : undefined;
    if (!left) continue;
    return { command: as, args: as === 'npx' && name !== 'npx' ? toNpxArgs(left) : left };
  }
  return { command, args };
}

/** Removes the subcommands, which only options may precede. Returns undefined if a subcommand is missing. */
function withoutVerbs(args: readonly string[], verbs: readonly string[]) {
  return verbs.reduce<readonly string[] | undefined>((left, verb) => {
    const at = left?.findIndex(arg => !arg.startsWith('-')) ?? -1;
    return left?.[at] === verb ? left.toSpliced(at, 1) : undefined;
  }, args);
}

/** Adds `-y` to the arguments of npx. Without `-y`, npx waits for an answer before it installs a package. */
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
