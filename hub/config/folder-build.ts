import { type ContextKind, readContext } from '#contexts';
import { messageOf } from '#core';
import { isEnabled } from './enabled.ts';
import { resolveInside } from './paths.ts';
import type { EntryDraft } from './sandbox.ts';

/** A folder that the image of a server is built from. */
export type FolderBuild = {
  /** Absolute path of the folder, with links resolved. */
  readonly folder: string;
  /** Python version, such as `3.12`. If absent, that of the hub's base image. */
  readonly python?: string;
} & BuildState;

type BuildState =
  /** `digest` of the files when the config was read. If it changes, the server is replaced. */
  | { readonly kind: ContextKind; readonly digest: string }
  /** Why the folder cannot be built now, as the end of a sentence about it. */
  | { readonly fault: string };

/** Reads the folder of `build`. Faults in its files only prevent this server from starting; the config stays valid. */
export async function folderBuildOf(draft: EntryDraft): Promise<FolderBuild | undefined> {
  const { entry, folderOf, home, guard, report } = draft;
  if (entry.build === undefined) return undefined;
  const at = ['build'];
  for (const key of ['package', 'image'] as const)
    if (entry[key] !== undefined)
      report([key], 'cannot be combined with "build": keep one of them');
  const place = await resolveInside(entry.build, { folder: folderOf('build'), home });
  if ('refusal' in place) return report(at, place.refusal, true);
  const refusal = await guard(place, { readOnly: true, allowSensitive: entry.allow_sensitive });
  if (refusal !== undefined) return report(at, refusal, true);
  if (entry.runtime === 'process')
    report(
      ['runtime'],
      '"process" cannot run a build, which becomes an image: write "docker", or "command" and "cwd" instead of "build"',
    );
  const { python } = entry;
  const base = { folder: place.real, ...(python !== undefined && { python }) };
  if (!isEnabled(entry)) return { ...base, fault: 'is not read while the server is disabled' };
  try {
    const { kind, digest } = await readContext(place.real);
    if (python !== undefined && kind !== 'python')
      report(['python'], 'is only for a folder with pyproject.toml: remove it');
    return { ...base, kind, digest };
  } catch (error) {
    return { ...base, fault: messageOf(error) };
  }
}
