import { createHash } from 'node:crypto';

/** What the hub writes at the top of a note, and reads there again. */
type NoteFacts = {
  readonly title: string;
  readonly tags: readonly string[];
  /** One sentence, which the index shows. */
  readonly description: string;
  /** The repository: a path. */
  readonly source: string;
  readonly commit: string;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** Hash of what the note was made from. */
  readonly sourceHash: string;
  /** The model that wrote a part of it. */
  readonly model?: string | undefined;
};

/** A note of an earlier run as far as the next run needs it. */
export type ExistingNote = {
  readonly source: string | undefined;
  readonly sourceHash: string | undefined;
  readonly description: string | undefined;
  readonly model: string | undefined;
  /** True unless the text is exactly what the hub wrote. */
  readonly isEdited: boolean;
};

const generator = 'AgentHub documentation';
const hashLine = /^hash: .*\n/m;

/** Joins frontmatter and body. `hash` is that of the whole text without its own line, so that any edit is seen. */
export function renderNote(facts: NoteFacts, body: string): string {
  const lines = [
    `title: ${JSON.stringify(facts.title)}`,
    'tags:',
    ...facts.tags.map(tag => `  - ${JSON.stringify(tag)}`),
    `description: ${JSON.stringify(facts.description)}`,
    `source: ${JSON.stringify(facts.source)}`,
    `commit: ${JSON.stringify(facts.commit)}`,
    `generated_at: ${JSON.stringify(facts.generatedAt)}`,
    `generator: ${JSON.stringify(generator)}`,
    ...(facts.model === undefined ? [] : [`model: ${JSON.stringify(facts.model)}`]),
    `source_hash: ${JSON.stringify(facts.sourceHash)}`,
  ];
  const text = `---\n${lines.join('\n')}\n---\n\n${body.trim()}\n`;
  const end = text.indexOf('\n---\n') + 1;
  return `${text.slice(0, end)}hash: ${JSON.stringify(hashOf(text))}\n${text.slice(end)}`;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Reads a note. One that the hub did not write counts as edited. Line ends of Windows are no edit. */
export function readNote(given: string): ExistingNote {
  const text = given.replaceAll('\r\n', '\n');
  const head = /^---\n([^]*?)\n---\n/.exec(text)?.[1] ?? '';
  const isOurs = valueOf(head, 'generator') === generator;
  const written = valueOf(head, 'hash');
  return {
    source: isOurs ? valueOf(head, 'source') : undefined,
    sourceHash: isOurs ? valueOf(head, 'source_hash') : undefined,
    description: valueOf(head, 'description'),
    model: valueOf(head, 'model'),
    isEdited: !isOurs || written !== hashOf(text.replace(hashLine, '')),
  };
}

/** A value of one line, with or without quotes: Obsidian may write them anew. */
function valueOf(head: string, key: string): string | undefined {
  const written = new RegExp(`^${key}: *(.*)$`, 'm').exec(head)?.[1];
  if (written === undefined || written === '') return undefined;
  if (!written.startsWith('"')) return written.replace(/^'(.*)'$/, '$1');
  try {
    return String(JSON.parse(written));
  } catch {
    // Not ours any more.
    return undefined;
  }
}
