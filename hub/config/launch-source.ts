import { type FolderBuild, folderBuildOf } from './folder-build.ts';
import { type CommandLine, findPackageLine, isProgram, plainLine } from './package-line.ts';
import {
  type OwnServer,
  type PackageSpec,
  findExtra,
  findPackage,
  isImage,
  nameOfPackage,
} from './package-spec.ts';
import type { EntryDraft } from './sandbox.ts';

/** What a server's entry runs: an image, a package or a command line. */
export type LaunchSource = {
  readonly image: string | undefined;
  /** Package that is installed in an image, or run with npx or uvx as a process. Excludes `image`. */
  readonly package: PackageSpec | undefined;
  /** Folder that the image is built from. Excludes `image` and `package`. */
  readonly build?: FolderBuild;
  /** Debian packages to install in the image. */
  readonly systemPackages?: readonly string[];
  /** Folder in `images/` with a server that is part of the hub. Excludes all other sources. */
  readonly own?: OwnServer;
  /**
   * The command as written, or a program of `package`. Undefined to run the default program of `package` or `image`.
   */
  readonly command: string | undefined;
  readonly args: readonly string[];
  /** Command line as written, if a process runs the package and the launcher is neither npx nor uvx. */
  readonly written?: { readonly command: string; readonly args: readonly string[] };
  /** Why a launcher's command line could not be converted to a package, and the remedy. */
  readonly noPackage?: string;
};

const extraRule =
  'write a package of the same registry, such as "name==1.0" (PyPI) or "@org/name@1.2.3" (npm)';
const packageRule =
  'write "@org/server@1.2.3" (npm), "uvx:name==1.0" (PyPI), "docker:name:tag" (an image) or "agenthub:ollama-mcp" (of this hub); no options, ranges, URLs or git references';

/** Returns the rule for a PyPI package with extras in its name; undefined for anything else. */
function extrasRuleFor(written: string): string | undefined {
  const [, name, extras, version] = /^uvx:([\w.-]+)(\[[\w,.-]+\])([^]*)$/.exec(written) ?? [];
  const plain = `uvx:${name}${version}`;
  return name === undefined || !findPackage(plain)
    ? undefined
    : `write "${plain}", and the extras as "with": ["${name}${extras}"] (agenthub add --with "${name}${extras}")`;
}

/** Returns what an entry runs; undefined if the entry does not define that. */
export async function sourceOf(draft: EntryDraft): Promise<LaunchSource | undefined> {
  const { entry, report } = draft;
  const systemPackages = [...new Set(entry.system_packages)];
  const found = entry.build === undefined ? fromKeys(draft) : await fromBuild(draft);
  if (!found || systemPackages.length === 0) return found;
  if (found.own !== undefined)
    return report(['system_packages'], `cannot be added to ${found.own}: remove it`);
  return { ...found, systemPackages };
}

async function fromBuild(draft: EntryDraft): Promise<LaunchSource | undefined> {
  const { command, args = [] } = draft.entry;
  const build = await folderBuildOf(draft);
  return build && { image: undefined, package: undefined, build, command, args };
}

function fromKeys({ entry, form, written, report }: EntryDraft): LaunchSource | undefined {
  const { package: named, command, image, args = [] } = entry;
  if (named !== undefined) {
    if (image !== undefined)
      report(['image'], 'cannot be combined with "package": keep one of them');
    return fromPackage(named, { command, args }, report);
  }
  if (image !== undefined) {
    if (!isImage(image)) report(['image'], 'write an image reference such as "name:tag"', true);
    return { image, package: undefined, command, args };
  }
  if (command === undefined) {
    const text = 'is missing: add "command" and "args", or "package", "build", "image" or "url"';
    return report(['command'], text);
  }
  if (form === 'servers' && !written.has('args'))
    report(['args'], 'is missing: add the arguments of "command", "args": [] for none');
  return fromLine({ command, args });
}

/** Converts the command line of a package launcher to a package. Keeps other command lines unchanged. */
function fromLine({ command, args }: CommandLine): LaunchSource {
  const line = findPackageLine(command, args);
  // A command with a folder in its path is the user's explicit choice.
  const other = line || /[\\/]/.test(command) ? { command, args } : plainLine({ command, args });
  const found = line ?? findPackageLine(other.command, other.args);
  const base = { image: undefined, package: undefined, command, args };
  if (!found) return base;
  if ('why' in found) return { ...base, noPackage: found.why };
  return {
    ...base,
    package: found.package,
    command: found.program,
    args: found.args,
    ...(!line && { written: { command, args } }),
  };
}

/** Applies `with` and `python`, which change how a package is installed. */
export function withExtras(launch: LaunchSource, { entry, report }: EntryDraft): LaunchSource {
  const { package: source } = launch;
  if (!source) {
    for (const key of ['with', 'python'] as const)
      if (entry[key]?.length && !(launch.build && key === 'python'))
        report([key], 'is only for "package", or a "command" that runs one: remove it');
    return launch;
  }
  const extras = new Set(source.with ?? []);
  for (const [index, written] of entry.with.entries()) {
    const extra = findExtra(source.ecosystem, written);
    if (extra === undefined) report(['with', index], extraRule, true);
    else extras.add(extra);
  }
  const python = entry.python ?? source.python;
  if (python !== undefined && source.ecosystem === 'npm')
    report(['python'], 'is only for a PyPI package ("uvx:name"): remove it');
  return {
    ...launch,
    package: {
      ...source,
      ...(extras.size > 0 && { with: [...extras] }),
      ...(python !== undefined && { python }),
    },
  };
}

function fromPackage(
  written: string,
  { command, args }: Pick<LaunchSource, 'command' | 'args'>,
  report: EntryDraft['report'],
): LaunchSource | undefined {
  const source = findPackage(written);
  if (!source) return report(['package'], extrasRuleFor(written) ?? packageRule, true);
  if (source.kind === 'image') return { image: source.image, package: undefined, command, args };
  if (source.kind === 'own') {
    if (command === undefined && args.length === 0)
      return { image: undefined, package: undefined, own: source.own, command, args };
    const key = command === undefined ? 'args' : 'command';
    return report(
      [key],
      `cannot be combined with "package": ${JSON.stringify(written)}: remove it`,
    );
  }
  const base = { image: undefined, command: undefined };
  if (command === undefined) return { ...base, package: source.package, args };
  const plain = plainLine({ command, args });
  const line = findPackageLine(plain.command, plain.args);
  // A command that is not a launcher names another program of the package.
  if (!line && isProgram(command)) return { ...base, package: source.package, command, args };
  // Some config files name the package and also the command line that runs it. The two must match.
  const agreed = line && 'package' in line ? matchSpecs(source.package, line.package) : undefined;
  if (!agreed || !line || 'why' in line)
    return report(
      ['command'],
      `does not run the "package" beside it: remove "command", or "package"`,
    );
  return { ...base, package: agreed, command: line.program, args: line.args };
}

/** Returns the spec that has a version. Undefined for different packages, or for different versions of one package. */
function matchSpecs(named: PackageSpec, line: PackageSpec): PackageSpec | undefined {
  const name = nameOfPackage(named);
  if (named.ecosystem !== line.ecosystem || name !== nameOfPackage(line)) return undefined;
  if (line.spec === name || line.spec === named.spec) return { ...line, spec: named.spec };
  return named.spec === name ? line : undefined;
}
