import type { CommitFiles } from './commit-types.ts';
import type { Exclusion, FileOutline, SourceFileText } from './outline/outline-types.ts';
import { languageOf } from './outline/languages.ts';
import type { ParserThread } from './outline/parser-thread.ts';
import { buildProject } from './project/build-project.ts';
import { excludedByContent, excludedByName } from './project/exclusions.ts';
import { isManifest } from './project/manifests.ts';
import type { Project, ProjectFile } from './project/project-types.ts';

type ReadingLimits = {
  /** Maximum number of files to read. */
  readonly maxFiles: number;
  /** Maximum total size in bytes of the files to read. */
  readonly maxBytes: number;
};

type Reading = {
  readonly repository: CommitFiles;
  readonly root: string;
  readonly commit: string;
  readonly name: string;
  readonly limits: ReadingLimits;
};

type Needs = {
  readonly parser: Pick<ParserThread, 'parse'>;
  /** Called after each piece of work. */
  readonly pace: () => void;
  readonly progress: (read: number, all: number) => void;
};

type Tracked = Awaited<ReturnType<CommitFiles['files']>>[number];

export const maxFileBytes = 512 * 1_024;
/** Maximum number of files in a batch. Small, because calls of clients wait while the hub and git process a batch. */
const batchFiles = 16;
const batchBytes = 32 * 1_024;
/** Number of files after which progress is reported. */
const reportFiles = 100;

/** Reads a repository at a commit: the files that git tracks, within limits. The working tree is not read. */
export async function readProject(
  { repository, root, commit, name, limits }: Reading,
  { parser, pace, progress }: Needs,
): Promise<Project> {
  const tracked = await repository.files();
  const { chosen, excluded } = chooseFiles(tracked, limits);
  const outlines: FileOutline[] = [];
  const others: ProjectFile[] = [];
  let read = 0;
  const batches = batchesOf(chosen);
  const readLimits = { fileBytes: maxFileBytes, maxBytes: batchBytes + maxFileBytes };
  // One batch after the other: git and the parser together would take two processors from the hub and its servers.
  for (const [at, batch] of batches.entries()) {
    const files = await repository.readFiles(batch, readLimits);
    const hashes = new Map(batch.map(({ path, hash }) => [path, hash]));
    const sources: SourceFileText[] = [];
    for (const file of files) {
      if (file.kind !== 'text') {
        if (file.kind !== 'missing')
          excluded.push({
            path: file.path,
            reason: file.kind === 'binary' ? 'binary' : 'too_large',
          });
        continue;
      }
      const { path, text, bytes } = file;
      if (languageOf(path)) sources.push({ path, text, bytes, hash: hashes.get(path) ?? '' });
      else {
        const exclusion = excludedByContent(path, text);
        if (exclusion) excluded.push(exclusion);
        else others.push({ path, text: path.endsWith('.md') ? text.slice(0, maxMarkdown) : text });
      }
    }
    const parsed = await parser.parse(sources);
    outlines.push(...parsed.outlines);
    excluded.push(...parsed.excluded);
    const before = read;
    read += batch.length;
    if (
      Math.floor(read / reportFiles) > Math.floor(before / reportFiles) ||
      at + 1 === batches.length
    )
      progress(read, chosen.length);
    pace();
  }
  return buildProject(
    {
      name,
      root,
      commit,
      trackedFiles: tracked.length,
      outlines,
      others,
      excluded,
    },
    pace,
  );
}

/** Maximum length of Markdown in characters. Only the heading and the first paragraph are needed. */
const maxMarkdown = 8_000;

/** Chooses source files, manifests and Markdown in the order of git, up to the limits. */
function chooseFiles(tracked: readonly Tracked[], { maxFiles, maxBytes }: ReadingLimits) {
  const chosen: Tracked[] = [];
  const excluded: Exclusion[] = [];
  let bytes = 0;
  for (const file of tracked) {
    const { path, mode } = file;
    const isWanted = languageOf(path) !== undefined || isManifest(path) || /\.md$/i.test(path);
    const exclusion = excludedByName(path);
    if (exclusion && (isWanted || exclusion.reason === 'secret')) excluded.push(exclusion);
    if (exclusion || !isWanted) continue;
    if (mode === 'link') excluded.push({ path, reason: 'link' });
    else if (file.bytes > maxFileBytes) excluded.push({ path, reason: 'too_large' });
    else if (chosen.length >= maxFiles || bytes + file.bytes > maxBytes)
      excluded.push({ path, reason: 'limit' });
    else {
      chosen.push(file);
      bytes += file.bytes;
    }
  }
  return { chosen, excluded };
}

function batchesOf(files: readonly Tracked[]): readonly (readonly Tracked[])[] {
  const batches: Tracked[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    if (bytes + file.bytes > batchBytes || (batches.at(-1)?.length ?? 0) >= batchFiles) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(file);
    bytes += file.bytes;
  }
  return batches;
}
