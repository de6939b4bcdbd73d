import { outsideQuotations } from './tokens.ts';
import { isOpener, names } from './words.ts';

const tagWith =
  (flags: string) =>
  (text: TemplateStringsArray, ...parts: readonly string[]): RegExp =>
    new RegExp(String.raw(text, ...parts), flags);

/** Tags for templates of regular expressions, by their flags. They read the template as `String.raw` does. */
export const pattern = {
  g: tagWith('g'),
  gi: tagWith('gi'),
  giu: tagWith('giu'),
  gu: tagWith('gu'),
  i: tagWith('i'),
  iu: tagWith('iu'),
  u: tagWith('u'),
};

/** A pattern, and the common notation that replaces its matches for comparison. */
export type Notation = readonly [RegExp, string | ((...found: string[]) => string)];

/** Pattern for nouns next to a path that add nothing to it: "the file a.txt". */
const fileNoun = '(?:file|script)';
const folderNoun = '(?:directory|folder|dir)';
/** Pattern for a file name, but not for "Three.js" or ".csv". */
const fileName = String.raw`(?![A-Z]\w*\.js\b)((?:[\w.~-]*/)*(?:\w[\w.-]*\.[a-z]\w{0,9}|\.(?:env|npmrc|bashrc|zshrc|vimrc|gitignore|gitconfig|dockerignore|editorconfig)))`;
const folder = String.raw`((?:~|\.{1,2}|[\w.@+-]+)?(?:/[\w.@+-]+)+)/?`;
/** Pattern for a technical name, which is no word of the language: `API_KEY`, `user.id`, `userId`. */
const technical = String.raw`((?:[A-Za-z][\w-]*[_.]\w+|\p{Ll}+\p{Lu}\w*)(?:\.\w+)*)`;
/** Pattern for nouns before or after a name: "the variable API_KEY", "the API_KEY variable". */
const nounOfName =
  '(environment variable|variable|column|field|property|constant|option|setting|key|table|branch|header|class)';
/** Pattern for things that have a name: "the branch called dev". */
const thing =
  '(?:file|script|container|variable|table|column|field|branch|folder|directory|service|server|image|package|module|app|project|repository|volume|network|bucket|queue|topic|tag|key)';
/** Pattern for the end of a path or name. */
const end = String.raw`(?=$|[\s?!,;]|\.(?:\s|$))`;
/** Pattern for commands of a shell that are no words of the language. */
export const commands =
  '(grep|sed|awk|curl|wget|ls|chmod|chown|tar|ssh|scp|rsync|xargs|uniq|wc|df|du|systemctl|journalctl|crontab|netstat|lsof|mkdir|jq|npm|git|docker|kubectl)';

/** Matches prompts in which the last slash of a folder, or "./" before a path, matters. */
const aboutPaths =
  /\b(?:rsync|scp|cp|mv|ln|[\w.]*ignore|slash(?:es)?|globs?|redirect\w*|urls?|location|routes?|endpoints?|import\w*|require\w*|modules?|resol\w*|relative|absolute|copy|dockerfile|robots\.txt|symlinks?|alias|ingress|cookies?|prefix|\d{3})\b/i;

/** Matches prompts about how something is written, in which notations matter. */
export const aboutNotation =
  /\b(?:pars(?:e|es|er|ing)|(?:re)?format(?:s|ted|ting)?|regex(?:es|p)?|regular expressions?|notations?|abbreviat\w*|acronyms?|spell(?:s|ed|ing)?|stands? for|pronounce\w*|written|convention|symbols?|punctuation|hyphen\w*|degree sign|strftime|strptime|means?|meaning|letters?|syllables?|characters?|commas?|plurals?|rhymes?|types?|typed|in words|enter|keyboard|decimals?|fractions?|instead of|rename\w*|capital\w*)\b|\bdifference between\b/i;

/** True if a word before a version is a product. Tags, releases and routes keep their notation. */
const isProduct = (word: string): boolean =>
  names.has(word.toLowerCase()) ||
  (!isOpener(word.toLowerCase()) && /^(?!Tag$|Release$|Version$|API$|From$|To$)\p{Lu}/u.test(word));

/** Spellings of a name, which are replaced in every prompt. */
export const nameNotations: readonly (readonly [RegExp, string])[] = [
  [/\bnode(?:\.js|js)\b/gi, 'Node'],
  [/\bdocker[ -]compose\b/gi, 'docker-compose'],
  [/\bworld war (?:i|1|one)\b/gi, 'First World War'],
  [/\bworld war (?:ii|2|two)\b/gi, 'Second World War'],
];

/** Abbreviations of names, which are replaced unless the prompt is about them. */
export const abbreviations: readonly Notation[] = [
  [
    /\b(?:the )?(?:United States(?: of America)?|USA|U\.S\.A\.|U\.S\.(?!\w))(?! \p{Lu})/gu,
    'the US',
  ],
  [/\b(?:the )?(?:United Kingdom|U\.K\.(?!\w))/g, 'the UK'],
  [/\bprior to\b/gi, 'before'],
  [/(?<=\b(?:in|with|using|for) )golang\b/gi, 'Go'],
  [/\bgolang (?=code\b|programs?\b|functions?\b|structs?\b|packages?\b)/gi, 'Go '],
  [/\b(React|Vue|Express)\.js\b/g, '$1'],
  [/\bdotnet(?= \d)/gi, '.NET'],
  [/\bpython(?=\d(?:\.\d+)?\b)/gi, 'Python '],
  [/\bES(?:2015|6)\b/g, 'ES6'],
  [/\b(?:the )?European Union\b/g, 'the EU'],
  [/\b(?:New York City|N\.Y\.C\.)(?!\w)/g, 'NYC'],
  [/\bcommand[- ]line interface\b/gi, 'CLI'],
  [/\bartificial intelligence\b/gi, 'AI'],
  [/\benv var(s?)\b/gi, 'environment variable$1'],
  [/\bvs\b\.?(?= )/gi, 'versus'],
  [/\b(?:Doctor|Dr\b\.?) (?=\p{Lu})/gu, 'Dr '],
  [/\b(?:Professor|Prof\b\.?) (?=\p{Lu})/gu, 'Prof '],
  [/\b(?:Saint|St\b\.) (?=\p{Lu})/gu, 'St '],
  [
    pattern.gu`(?<=\b(?:an?|the) (?:(?!(?:who|that|which|is|was)\b)[\p{L}.-]+ )?${thing} )called (?=[\w.\ue000-])(?!(?:by|from|when|in|with|before|after|at|on|for|every|and|or|if|the|an?|to|twice|once|first|last)\b)`,
    'named ',
  ],
];

/** Notations of versions after the name of a product. */
export const versions: readonly Notation[] = [
  [/\bversion (\d+(?:\.\d+)*) of (\p{L}[\p{L}\d+#]*(?:\.\p{L}+)?)/giu, versionedOf],
  [
    /(?<=\S )(\p{L}[\p{L}\d.+#]*) (?:version |ver\. ?|v\.? ?)(?=\d[\d.]*(?! ?\p{Ll}{3,}s\b))/giu,
    versioned,
  ],
];

/** Notations of folders, for prompts in which no slash matters. */
const pathNotations: readonly Notation[] = [
  [/(?<=^|\s)\.\/(?=[\w.-]+\/)/g, ''],
  [pattern.g`(?<=^|\s)(?<!\b[Aa]n? )(?:the )?${folderNoun} ${folder}${end}`, '$1'],
  [pattern.g`(?<=^|\s)(?:the )?${folder} ${folderNoun}\b`, '$1'],
  [pattern.g`(?<=\bfiles (?:in|from|under) )${folder}${end}`, '$1'],
];
/** Words that may be omitted: "degrees" before a scale, a product before its second version. */
const repetitions: readonly Notation[] = [
  [/(?<=\d) ?[°º] ?C\b/g, ' Celsius'],
  [/(?<=\d) ?[°º] ?F\b/g, ' Fahrenheit'],
  [/\b(?:degrees|deg) (?=Celsius\b|Fahrenheit\b)/gi, ''],
  [/\b(\p{Lu}[\p{L}\d.+#]*) (\d[\d.]*) (to|and|or|versus) \1 (?=\d)/gu, '$1 $2 $3 '],
  [
    /(?<=\s)(\p{Lu}[\p{L}\d.+#]*) from (?:v|version )?(\d[\d.]*) to (?:v|version )?(?=\d)/gu,
    fromVersion,
  ],
];
const codeNotations: readonly Notation[] = [
  [/(?<=^|\s)\$([A-Z][A-Z0-9_]+)(?= (?:environment )?variable\b)/g, '$1'],
  [pattern.gu`(?<=\bthe )${nounOfName} (?:called |named )?${technical}${end}`, '$2 $1'],
  [/(?<=(?:^|\s)--?[A-Za-z][\w-]*) (?:flag|switch)\b/g, ' option'],
  [/(?<=\bthe )(?:flag|switch|option) (--?[A-Za-z][\w-]*)/g, '$1 option'],
  [
    pattern.g`\b(?<=(?:with|using|in|via|by|from|to|of|does|use) )the ${commands} (?:command|utility)\b`,
    '$1',
  ],
  [
    /\b(Python|JavaScript|TypeScript|Java|Go|Rust|Ruby|PHP|Kotlin|Swift|Bash|Perl|Lua)'s ([A-Za-z_$][\w$.]*\(\))/g,
    '$2 in $1',
  ],
  [pattern.g`(?<=^|\s)(?:the |an? )?${fileNoun} (?:(?:called|named) )?${fileName}${end}`, '$1'],
  [pattern.g`(?<=^|\s)(?:the )?${fileName} ${fileNoun}\b`, '$1'],
  [
    /(?<=^|\s)(\*\*?)(never|not|always|only|all|must|really|very|exactly|without|both)\1(?=\s)/gi,
    '$2',
  ],
];

function fromVersion(all: string, word: string, version: string): string {
  return isProduct(word) ? `from ${word} ${version} to ` : all;
}

function versionedOf(all: string, version: string, word: string): string {
  return isProduct(word) ? `${word} ${version}` : all;
}

function versioned(all: string, word: string): string {
  return isProduct(word) ? `${word} ` : all;
}

/** Rewrites paths, options and variables without words that only describe them: "the file a.txt" as "a.txt". */
export const withPlainCode = (text: string): string =>
  outsideQuotations(text, prose => {
    const scaled = aboutNotation.test(prose) ? prose : replaced(prose, repetitions);
    return replaced(
      aboutPaths.test(prose) ? scaled : replaced(scaled, pathNotations),
      codeNotations,
    );
  });

/**
 * Replaces each notation by the common one, unless this makes two different details of the text equal: "Convert
 * 2024-01-15 to January 15, 2024" is about the notations.
 */
export function replaced(text: string, notations: readonly Notation[]): string {
  let rest = text;
  for (const [pattern, replacement] of notations) {
    const written = new Set<string>();
    const results = new Set<string>();
    let count = 0;
    const next = rest.replaceAll(pattern, (...found: string[]) => {
      const result =
        typeof replacement === 'string'
          ? replacement.replaceAll(/\$(\d)/g, (_, at: string) => found[Number(at)] ?? '')
          : replacement(...found);
      written.add(found[0] ?? '');
      results.add(result);
      count++;
      return result;
    });
    const isMerged =
      results.size < written.size ||
      [...results].some(
        result => result.trim().length > 1 && next.split(result.trim()).length > count + 1,
      );
    if (!isMerged) rest = next;
  }
  return rest;
}
