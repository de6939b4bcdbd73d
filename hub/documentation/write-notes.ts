import { isDeepStrictEqual } from 'node:util';
import { HubError } from '#core';
import type { CommitNotes } from './commit-types.ts';
import { draftModuleNotes, draftOverviews, nameNotes, sourceHashOf } from './notes/draft-notes.ts';
import { type ExistingNote, readNote, renderNote } from './notes/frontmatter.ts';
import { withDescription } from './notes/module-note.ts';
import type { Description, DraftNote } from './notes/note-types.ts';
import type { CodeModule, Project } from './project/project-types.ts';
import {
  type NoteAction,
  type PlannedNote,
  type WantedNote,
  planRemovals,
  planWrite,
} from './vault/plan-writes.ts';
import type { VaultNote } from './vault/vault-types.ts';

/** Result of writing the notes. In a dry run: what would be written. */
export type WrittenNotes = {
  /** Names of notes by action, without those of `keep`. */
  readonly byAction: Readonly<Record<Exclude<NoteAction, 'keep'>, readonly string[]>>;
  readonly removed: readonly string[];
  readonly kept: number;
  /** Modules whose notes need a description by a model. */
  readonly toDescribe: readonly CodeModule[];
};

type Writing = {
  readonly project: Project;
  readonly vault: CommitNotes;
  readonly isDryRun: boolean;
  readonly generatedAt: string;
  /** Model that describes modules; undefined to use none. */
  readonly model: string | undefined;
};

type Needs = {
  readonly describe: (module: CodeModule) => Promise<Description | undefined>;
  /** Called after each piece of work. */
  readonly pace: () => void;
  readonly progress: (step: 'compare' | 'write', done: number, all: number) => void;
};

/** Maximum number of notes in a batch. Small, because calls of clients wait while the hub processes a batch. */
const batchNotes = 20;
const batchLength = 48 * 1_024;
const readAtOnce = 8;

/** Compares the notes of a project with those in the vault, and writes those that changed. */
export async function writeNotes(
  { project, vault, isDryRun, generatedAt, model }: Writing,
  { describe, pace, progress }: Needs,
): Promise<WrittenNotes> {
  const names = nameNotes(project);
  const folder = project.name;
  const pathOf = (name: string) => `${folder}/${name}.md`;
  const existing = await readExisting(vault, folder, pace);
  requireOwn(existing, project);
  const modules = new Map(project.modules.map(module => [module.folder, module]));
  const described = new Map<string, string>();
  const done: Record<NoteAction, string[]> = {
    create: [],
    replace: [],
    keep: [],
    beside: [],
    conflict: [],
  };
  const toDescribe: CodeModule[] = [];
  const wanted: WantedNote[] = [];
  let batch: VaultNote[] = [];
  let inBatch = 0;

  async function flush(): Promise<void> {
    if (batch.length > 0) await vault.write(batch);
    batch = [];
    inBatch = 0;
  }

  /** Reads a note again, which people may edit during a run. Resolves to true if it differs from what is known. */
  async function hasChanged(name: string): Promise<boolean> {
    const text = await vault.read(pathOf(name));
    const found = text === undefined ? undefined : readNote(text);
    if (isDeepStrictEqual(found, existing.get(name))) return false;
    if (found) existing.set(name, found);
    else existing.delete(name);
    return true;
  }

  /** Decides about a note by what the vault has now. */
  async function planNow(note: WantedNote): Promise<PlannedNote> {
    for (;;) {
      const planned = planWrite(note, existing);
      if (planned.target === undefined || !(await hasChanged(planned.target))) return planned;
    }
  }

  /** Writes a note, unless the existing one is current or was edited by hand. */
  async function put(draft: DraftNote): Promise<void> {
    const module = draft.folder === undefined ? undefined : modules.get(draft.folder);
    const note = {
      name: draft.name,
      sourceHash: sourceHashOf(draft),
      model: module?.isTests === false ? model : undefined,
    };
    wanted.push(note);
    const planned = planWrite(note, existing);
    const isDescribed = model !== undefined && module?.isTests === false;
    if (isDescribed && planned.target !== undefined) toDescribe.push(module);
    const before = existing.get(draft.name)?.description;
    if (draft.folder !== undefined && planned.action === 'keep' && before !== undefined)
      described.set(draft.folder, before);
    if (planned.target === undefined || isDryRun) {
      done[planned.action].push(planned.target ?? draft.name);
      return;
    }
    const description = isDescribed ? await describe(module) : undefined;
    await putPlanned(draft, module, description, note.sourceHash, await planNow(note));
  }

  async function putPlanned(
    draft: DraftNote,
    module: CodeModule | undefined,
    description: Description | undefined,
    sourceHash: string,
    { action, target }: PlannedNote,
  ): Promise<void> {
    if (target === undefined) {
      done[action].push(draft.name);
      return;
    }
    const isDescribed = model !== undefined && module?.isTests === false;
    const there = existing.get(target);
    // The model failed again, so the existing note is at least as good.
    const isVain = isDescribed && !description && there?.sourceHash === sourceHash;
    done[isVain ? 'keep' : action].push(target);
    if (isVain) {
      if (there.description !== undefined) described.set(module.folder, there.description);
      return;
    }
    const first = description?.claims[0]?.text;
    const isVague = draft.folder !== undefined && module?.summary === undefined;
    const sentence = isVague && first !== undefined ? first : draft.description;
    if (draft.folder !== undefined) described.set(draft.folder, sentence);
    const { title, tags } = draft;
    const facts = {
      title,
      tags,
      description: sentence,
      source: project.root,
      commit: project.commit,
      generatedAt,
      sourceHash,
      model: description?.model,
    };
    const body = description ? withDescription(draft.body, description) : draft.body;
    pace();
    const text = renderNote(facts, body);
    batch.push({ path: pathOf(target), text });
    inBatch += text.length;
    // Written after each description, which takes long, so that it is not lost if the hub is killed.
    if (batch.length >= batchNotes || inBatch >= batchLength || description) await flush();
  }

  const all = project.modules.length;
  for (const draft of draftModuleNotes(project, names, pace)) {
    pace();
    await put(draft);
    if (wanted.length % batchNotes === 0) progress('write', wanted.length, all);
    pace();
  }
  await flush();
  for (const draft of draftOverviews(project, names, described)) {
    await put(draft);
    pace();
  }
  await flush();
  if (!isDryRun) for (const name of planRemovals(wanted, existing)) await hasChanged(name);
  const removed = planRemovals(wanted, existing);
  if (!isDryRun) for (const name of removed) await vault.remove(pathOf(name));
  const { keep, ...byAction } = done;
  return { byAction, removed, kept: keep.length, toDescribe };
}

async function readExisting(
  vault: CommitNotes,
  folder: string,
  pace: () => void,
): Promise<Map<string, ExistingNote>> {
  const paths = (await vault.list(folder)).filter(
    path => !path.slice(folder.length + 1).includes('/'),
  );
  const existing = new Map<string, ExistingNote>();
  for (let at = 0; at < paths.length; at += readAtOnce) {
    const some = paths.slice(at, at + readAtOnce);
    const texts = await Promise.all(some.map(path => vault.read(path)));
    pace();
    for (const [index, path] of some.entries()) {
      const text = texts[index];
      if (text !== undefined)
        existing.set(path.slice(folder.length + 1, -'.md'.length), readNote(text));
    }
  }
  return existing;
}

/** Rejects a name that another repository uses: the runs would remove each other's notes. */
function requireOwn(existing: ReadonlyMap<string, ExistingNote>, { name, root }: Project): void {
  for (const { source } of existing.values())
    if (source !== undefined && source !== root)
      throw new HubError(
        'HUB_PROJECT_NAME_TAKEN',
        `project_name: the folder ${JSON.stringify(name)} of the vault documents ${source}, not ${root}. Choose another project_name, or delete that folder`,
      );
}
