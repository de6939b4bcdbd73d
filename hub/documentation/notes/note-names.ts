import { createHash } from 'node:crypto';
import { HubError } from '#core';

/** Matches control characters, line breaks, and characters that Obsidian links or file systems do not allow in names. */
const forbidden = /[:/\\|#^[\]*"<>?%`]|[\p{Cc}\p{Zl}\p{Zp}]/gu;
const maxNameBytes = 150;
const maxProjectLength = 80;
/** Matches names that Windows reserves. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** Throws HUB_REQUEST_INVALID if a name is not valid as a folder and as the beginning of note names. */
export function requireProjectName(name: string): string {
  const fault =
    name.trim() !== name || name === ''
      ? 'must not be empty, or begin or end with a space'
      : name.length > maxProjectLength
        ? `has more than ${maxProjectLength} characters`
        : name.search(forbidden) >= 0
          ? `has one of the characters : / \\ | # ^ [ ] * " < > ? % \``
          : /^\.|\.$/.test(name) || reserved.test(name) || name.normalize('NFC') !== name
            ? 'is not a name for a folder'
            : undefined;
  if (fault === undefined) return name;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `project_name: ${JSON.stringify(name.slice(0, maxProjectLength))} ${fault}: write a plain name such as "my project"`,
  );
}

/** Creates the names of a project's notes. All begin with its name, and are unique in the vault regardless of case. */
export function createNoteNames(project: string) {
  const taken = new Set<string>();

  function unique(text: string, key: string): string {
    const plain = text.replaceAll(forbidden, '-').normalize('NFC').trim();
    let name = `${project} - ${plain}`;
    if (Buffer.byteLength(name) > maxNameBytes) name = withHash(cutTo(name, maxNameBytes - 9), key);
    if (/[. ]$/.test(name)) name = withHash(name.replace(/[. ]+$/, ''), key);
    if (taken.has(foldCase(name))) name = withHash(name, key);
    taken.add(foldCase(name));
    return name;
  }

  return {
    readme: unique('README', ''),
    index: unique('Index', ''),
    architecture: unique('Architecture', ''),
    /** Returns the name of a module's note. Call it in the order of the folders, so that names stay the same. */
    ofModule: (folder: string) =>
      unique(folder === '.' ? 'top folder' : folder.split('/').join(' - '), folder),
  };
}

const foldCase = (name: string): string => name.normalize('NFC').toLowerCase();

const withHash = (name: string, key: string) =>
  `${name} ${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;

/** Cuts a text to a number of bytes, without splitting a character. */
function cutTo(text: string, bytes: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > bytes || !cut.isWellFormed()) cut = cut.slice(0, -1);
  return cut.trimEnd();
}
