import type { LocalLaunch, PackageSpec } from './config.ts';
import {
  type PackageLine,
  findPackage,
  findPackageLine,
  isImage,
  nameOfPackage,
} from './package-spec.ts';
import { resolveInside } from './paths.ts';
import { type Machine, sandboxOf } from './sandbox.ts';
import type { ServerEntry } from './server-schema.ts';

/** Takes a problem at a path inside the entry. `showsValue` puts the value before the text. */
export type Report = (
  path: readonly (string | number)[],
  text: string,
  showsValue?: boolean,
) => void;

type LocalDraft = Machine & {
  readonly form: 'servers' | 'mcpServers';
  readonly entry: ServerEntry;
  readonly written: ReadonlySet<string>;
};

type What = Pick<LocalLaunch, 'image' | 'package' | 'command' | 'args'>;

const packageForms =
  'write "@org/server@1.2.3" (npm), "uvx:name==1.0" (PyPI) or "docker:name:tag" (an image); no options, ranges, URLs or git references';

/** How a server that the hub runs itself is launched; undefined where the entry does not say what. */
export async function localLaunch(
  draft: LocalDraft,
  report: Report,
): Promise<LocalLaunch | undefined> {
  const { entry, written } = draft;
  if (written.has('headers')) report(['headers'], 'goes with "url" only: remove it');
  const what = whatToRun(draft, report);
  const sandbox = await sandboxOf(entry, draft, report);
  if (!what) return undefined;
  if (what.image !== undefined && entry.runtime === 'process')
    report(
      ['runtime'],
      `"process" cannot run an image: write "docker", or "command" without an image`,
    );
  return {
    kind: 'local',
    runtime: entry.runtime,
    ...what,
    env: entry.env,
    workingDirectory: await workingDirectory(draft, what, report),
    sandbox,
  };
}

function whatToRun(draft: LocalDraft, report: Report): What | undefined {
  const { entry, form, written } = draft;
  const { command, image, args = [] } = entry;
  if (entry.package !== undefined) {
    if (image !== undefined) report(['image'], 'does not go with "package": keep one of them');
    return fromPackage(entry.package, command, args, report);
  }
  if (image !== undefined) {
    if (!isImage(image)) report(['image'], 'write an image reference such as "name:tag"', true);
    return { image, package: undefined, command, args };
  }
  if (command === undefined) {
    report(['command'], 'is missing: add "command" and "args", or "package", "image" or "url"');
    return undefined;
  }
  if (form === 'servers' && !written.has('args'))
    report(['args'], 'is missing: add the arguments of "command", "args": [] for none');
  const line = findPackageLine(command, args);
  return line
    ? { image: undefined, package: line.package, command: undefined, args: line.args }
    : { image: undefined, package: undefined, command, args };
}

function fromPackage(
  written: string,
  command: string | undefined,
  args: readonly string[],
  report: Report,
): What | undefined {
  const source = findPackage(written);
  if (!source) {
    report(['package'], packageForms, true);
    return undefined;
  }
  if (source.kind === 'image') return { image: source.image, package: undefined, command, args };
  const base = { image: undefined, command: undefined };
  if (command === undefined) return { ...base, package: source.package, args };
  // Files name the package beside the command line that runs it; the two must then agree.
  const line = findPackageLine(command, args);
  const agreed = line && agree(source.package, line);
  if (!agreed)
    report(['command'], `does not run the "package" beside it: remove "command", or "package"`);
  return agreed && { ...base, package: agreed, args: line.args };
}

/** Of the two specs the one with a version; undefined for two packages, or two versions of one. */
function agree(named: PackageSpec, line: PackageLine): PackageSpec | undefined {
  const name = nameOfPackage(named);
  if (named.ecosystem !== line.package.ecosystem || name !== nameOfPackage(line.package))
    return undefined;
  if (line.package.spec === name || line.package.spec === named.spec) return named;
  return named.spec === name ? line.package : undefined;
}

async function workingDirectory(
  draft: LocalDraft,
  what: What,
  report: Report,
): Promise<string | undefined> {
  const { cwd } = draft.entry;
  if (cwd === undefined) return undefined;
  // The folder is one in the image, so it does not start at this machine's folders.
  if (what.image !== undefined) {
    if (!cwd.startsWith('/')) report(['cwd'], 'write an absolute path in the image', true);
    return cwd;
  }
  const place = await resolveInside(cwd, { folder: draft.folderOf('cwd'), home: draft.home });
  if (!('refusal' in place)) return place.real;
  report(['cwd'], place.refusal, true);
  return undefined;
}
