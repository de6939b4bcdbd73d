import { posix } from 'node:path';

/** Compiled rules of a .dockerignore. Paths have `/` between their parts. */
export type Ignore = {
  /** True if a file or folder of a build context is left out. */
  readonly ignores: (path: string) => boolean;
  /** True if an ignored folder may contain files that an exception includes. */
  readonly mayExceptBelow: (folder: string) => boolean;
};

type Rule = {
  /** Patterns of the names in a path; `**` stands for any number of folders. */
  readonly parts: readonly (Pattern | '**')[];
  readonly whole: Pattern;
  readonly isException: boolean;
};

type Pattern = {
  readonly steps: readonly Step[];
  /** A text that each match contains, which is found faster than a match. */
  readonly literal: string;
};

/**
 * A step of a pattern. `takes`: characters that lead to the next step. `repeats`: characters after which it is still
 * this step.
 */
type Step = {
  /** The only character that leads to the next step, if there is only one. */
  readonly character?: string;
  readonly takes?: (character: string) => boolean;
  readonly repeats?: (character: string) => boolean;
  /** True if the step matches an empty text too; `before`: only as long as it has matched no character. */
  readonly isOptional?: boolean | 'before';
};

/**
 * Compiles the rules of a .dockerignore: patterns of Go's `filepath.Match` with `**`, relative to the folder. The last
 * rule that matches the path or a folder above it decides; `!` makes an exception. Throws an Error for an invalid
 * pattern. https://docs.docker.com/build/concepts/context/#dockerignore-files
 */
export function createIgnore(lines: readonly string[]): Ignore {
  const rules = lines.flatMap(ruleOf);
  const exceptions = rules.filter(({ isException }) => isException);
  function ignores(path: string): boolean {
    let isIgnored = false;
    for (const { whole, isException } of rules)
      if (isIgnored === isException && matches(whole, path)) isIgnored = !isException;
    return isIgnored;
  }
  return {
    ignores,
    mayExceptBelow: folder => exceptions.some(({ parts }) => leadsBelow(parts, folder.split('/'))),
  };
}

/** True if a path below the folder may match the pattern. */
function leadsBelow(parts: Rule['parts'], folder: readonly string[]): boolean {
  for (const [index, name] of folder.entries()) {
    const part = parts[index];
    if (part === '**') return true;
    if (part === undefined || !matches(part, name)) return false;
  }
  return parts.length > folder.length;
}

function ruleOf(line: string): readonly Rule[] {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return [];
  const isException = text.startsWith('!');
  const path = (isException ? text.slice(1) : text).trim();
  const parts = posix
    .normalize(path)
    .split('/')
    .filter(part => part !== '' && part !== '.')
    // Repetitions of `**` match the same, and each one would take time at each character of a path.
    .filter((part, at, all) => part !== '**' || all[at - 1] !== '**');
  if (parts.length === 0) return [];
  return [
    {
      parts: parts.map(part => (part === '**' ? part : patternOf(stepsOfPart(part)))),
      whole: patternOf(stepsOf(parts)),
      isException,
    },
  ];
}

function patternOf(steps: readonly Step[]): Pattern {
  const runs = steps
    .map(({ character }) => character ?? '\0')
    .join('')
    .split('\0');
  return { steps, literal: runs.reduce((one, other) => (other.length > one.length ? other : one)) };
}

const any = () => true;
const isSlash = (character: string) => character === '/';
const isOther = (character: string) => character !== '/';
const slash: Step = { character: '/', takes: isSlash };

/** Converts the parts of a pattern to steps. `**` stands for any number of folders. */
const stepsOf = (parts: readonly string[]): readonly Step[] =>
  parts.flatMap((part, index): readonly Step[] => {
    const isLast = index === parts.length - 1;
    if (part !== '**') return [...stepsOfPart(part), ...(isLast ? [] : [slash])];
    return isLast
      ? [{ takes: any }, { repeats: any, isOptional: true }]
      : [{ repeats: any, takes: isSlash, isOptional: 'before' }];
  });

const stepsOfPart = (part: string): readonly Step[] =>
  (part.match(/\*{2,}|\*|\?|\[\^?(?:\\.|[^\]\\]){1,1000}\]|\\.|[^]/gsu) ?? []).map(
    (token): Step => {
      if (token.startsWith('**')) return { repeats: any, isOptional: true };
      if (token === '*') return { repeats: isOther, isOptional: true };
      if (token === '?') return { takes: isOther };
      if (token.length > 2 && token.startsWith('[')) {
        const pattern = classOf(token);
        return { takes: character => pattern.test(character) };
      }
      const wanted = token.length === 2 && token.startsWith('\\') ? token.slice(1) : token;
      return { character: wanted, takes: character => character === wanted };
    },
  );

/**
 * Returns the regular expression of a character class such as `[^a-c]`. Throws an Error whose message ends a sentence
 * about the folder.
 */
function classOf(token: string): RegExp {
  const escaped = (_: string, character: string) =>
    `\\u{${character.codePointAt(0)?.toString(16)}}`;
  try {
    return new RegExp(`^${token.replaceAll(/\\([^A-Za-z0-9])/gu, escaped)}$`, 'su');
  } catch (cause) {
    throw new Error(
      `holds a .dockerignore with a syntax error in ${JSON.stringify(token)}. Correct this pattern`,
      { cause },
    );
  }
}

/**
 * True if a path or a folder above it matches. All alternatives are followed at once, so the time grows with the
 * product of the lengths, whatever the pattern.
 */
function matches({ steps, literal }: Pattern, path: string): boolean {
  if (!path.includes(literal)) return false;
  let reached = new Set<number>();
  enter(steps, 0, reached);
  for (const character of path) {
    if (character === '/' && reached.has(steps.length)) return true;
    const next = new Set<number>();
    for (const at of reached) {
      const { takes, repeats, isOptional } = steps[at] ?? {};
      if (takes?.(character)) enter(steps, at + 1, next);
      if (!repeats?.(character)) continue;
      if (isOptional !== 'before') enter(steps, at, next);
      else next.add(at);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(steps.length);
}

/** Adds a step to the reached ones, with the steps after it that may match an empty text. */
function enter(steps: readonly Step[], from: number, reached: Set<number>): void {
  for (let at = from; !reached.has(at); at++) {
    reached.add(at);
    if (!steps[at]?.isOptional) break;
  }
}
