import { createHash } from 'node:crypto';

/** Properties in the frontmatter of a note. */
type NoteFacts = {
  readonly title: string;
  readonly tags: readonly string[];
  /** One sentence about the note, which is shown in the index. */
  readonly description: string;
  /** Path of the repository. */
  readonly source: string;
  readonly commit: string;
  /** Time in ISO 8601. */
  readonly generatedAt: string;
  /** Hash of everything that the note was made from. */
  readonly sourceHash: string;
  /** Model that wrote a part of the note; absent if none did. */
  readonly model?: string | undefined;
};

/** Properties of a note from an earlier run that the next run needs. */
export type ExistingNote = {
  readonly source: string | undefined;
  readonly sourceHash: string | undefined;
  readonly description: string | undefined;
  readonly model: string | undefined;
  /** False if the text is exactly as the hub wrote it. */
  readonly isEdited: boolean;
};

const generator = 'AgentHub documentation';
const hashLine = /^hash: .*\n/m;

/** Joins frontmatter and body. `hash` covers the whole text except its own line, so that any edit is detected. */
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

/** Parses a note. A note that the hub did not write counts as edited. Windows line breaks do not. */
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

/** Returns a one-line value, with or without quotes, because Obsidian may rewrite them; undefined if there is none. */
function valueOf(head: string, key: string): string | undefined {
  const written = new RegExp(`^${key}: *(.*)$`, 'm').exec(head)?.[1];
  if (written === undefined || written === '') return undefined;
  if (!written.startsWith('"')) return written.replace(/^'(.*)'$/, '$1');
  try {
    return String(JSON.parse(written));
  } catch {
    // The value was edited, and is no longer valid.
    return undefined;
  }
}
