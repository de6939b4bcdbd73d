import {
  type Notation,
  aboutNotation,
  abbreviations,
  nameNotations,
  replaced,
  versions,
  pattern,
} from './technical-names.ts';
import { outsideQuotations } from './tokens.ts';
import { rowsOf, tableOf } from './words.ts';

/** Maximum length in characters of prompts in which notations are replaced, because the patterns read whole prompts. */
const maxLength = 1_000;

const monthNames =
  'January|February|March|April|May|June|July|August|September|October|November|December';
const month = `(${monthNames})`;
const monthNumbers = monthNames.split('|');
const weekday = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const unitOfTime = '(minute|hour|day|week|month|year)';

/** Maps each abbreviation in a table to its word. */
const wordsFor = (table: string): ReadonlyMap<string, string> =>
  new Map(rowsOf(table).flatMap(([word = '', ...short]) => short.map(one => [one, word] as const)));

/** Abbreviations that are not also words or names. */
const clear = wordsFor(
  `February Feb | April Apr | July Jul | August Aug | September Sept Sep | October Oct | November Nov | December Dec |
  Tuesday Tues | Thursday Thu Thur Thurs | Friday Fri`,
);
/** Abbreviations that are also words or names. They are replaced only next to a date, a time or another weekday. */
const unclear = wordsFor(
  'January Jan | March Mar | June Jun | Monday Mon | Tuesday Tue | Wednesday Wed | Saturday Sat | Sunday Sun',
);
const keysOf = (map: ReadonlyMap<string, string>): string => [...map.keys()].join('|');
const either = `(?:${keysOf(clear)}|${keysOf(unclear)}|${monthNames}|${weekday})`;
const longFor = (_: string, short: string): string =>
  clear.get(short) ?? unclear.get(short) ?? short;

const timeZones = wordsFor(
  `UTC Coordinated_Universal_Time | GMT Greenwich_Mean_Time | CET Central_European_Time | CEST Central_European_Summer_Time |
  PST Pacific_Standard_Time | PDT Pacific_Daylight_Time | EST Eastern_Standard_Time | EDT Eastern_Daylight_Time |
  MST Mountain_Standard_Time | JST Japan_Standard_Time`,
);
const timeZoneNames = [...timeZones.keys()].map(name => name.replaceAll('_', ' ')).join('|');

/** Measures of the kitchen and of distances, which may have halves and quarters. */
const measure =
  '(?:cups?|teaspoons?|tablespoons?|tsp|tbsp|pounds?|lbs?|ounces?|oz|miles?|inch(?:es)?|kilos?|lit(?:er|re)s?|pints?|gallons?|acres?|pages?)';
const fractions = tableOf('1/2 .5 | ½ .5 | 1/4 .25 | ¼ .25 | 3/4 .75 | ¾ .75');
const fraction = '(1/2|1/4|3/4|[½¼¾])';

const counts =
  'one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|eighty|hundred|thousand';
/** Returns a pattern for the spellings of a unit after a number. */
const measured = (spellings: string): RegExp =>
  pattern.gi`(?<=\d|\b(?:${counts}))[ -]?(?:${spellings})(?![\w²])`;

/** Notations of numbers, times and versions, each with the common notation for comparison. */
const notations: readonly Notation[] = [
  // Temperatures, speeds, areas
  [/(?<=\d) ?(?:[°º] ?|deg(?:rees?)?\.? )(c|celsius|centigrade|f|fahrenheit)\b/gi, temperature],
  [/(?<=^|\s)[°º] ?([CF])\b/g, temperature],
  [measured('miles (?:per|an) hour|mph'), ' mph'],
  [measured('kilomet(?:er|re)s? (?:per|an) hour|km/h|kph|kmh|kmph'), ' kmh'],
  [measured(String.raw`square met(?:er|re)s?|sq\.? ?m|m²|m\^2|m2`), ' sqm'],
  [measured(String.raw`square kilomet(?:er|re)s?|sq\.? ?km|km²|km\^2|km2`), ' sqkm'],
  [measured(String.raw`square (?:feet|foot)|sq\.? ?ft\.?|sqft|ft²|ft\^2`), ' sqft'],
  [measured(String.raw`square miles?|sq\.? ?mi\.?`), ' sqmi'],
  [measured('kilowatt[- ]hours?'), ' kWh'],
  [/(?<=\d) ?(?:Mbit\/s|Mb\/s|megabits? per second)(?!\w)/g, ' Mbps'],
  [/(?<=\d) ?(?:Gbit\/s|Gb\/s|gigabits? per second)(?!\w)/g, ' Gbps'],
  [/(?<=\d) ?(?:per cent|pct)\b/gi, ' percent'],
  [/(?<=\d) (?:pounds sterling|British pounds)\b/gi, ' GBP'],

  // Numbers
  [/\b(EUR|USD|GBP) ?(\d[\d,]*(?:\.\d+)?)(?![\d.,]*\d)/g, '$2 $1'],
  [/(?<=\d ?(?:ft|feet|foot) \d{1,2}) ?in\b(?!\.?\w)/gi, ' inches'],
  [/(?<=^|[\s($€£-])\.(?=\d)/g, '0.'],
  [/(?<=\b\d{1,3}(?: 000)?) (?=000\b)/g, ','],
  [/(?<=^|\s)minus (?=\d)(?<!\d minus )/gi, '-'],
  [/\b(?:half a|half-a|a half) dozen\b/gi, 'six'],
  [
    pattern.gi`(?<=^|\s)(\d+)(?:[ -]|(?=[½¼¾]))${fraction}(?=[ -](?:cups?|teaspoons?|tablespoons?|tsp|tbsp|hours?)\b)`,
    mixedNumber,
  ],
  [pattern.gi`(?<=^|\s)()${fraction}(?: of an?)?(?=[ -]${measure}\b)`, mixedNumber],
  [pattern.gi`(?<!\band )\b(?:half an?|a half|a half of an?) (?=${measure}\b)`, '0.5 '],
  [pattern.gi`\b(?:a quarter(?: of an?)?|one quarter(?: of an?)?) (?=${measure}\b)`, '0.25 '],
  [pattern.gi`\bthree[- ]quarters(?: of an?)? (?=${measure}\b)`, '0.75 '],
  [/(?<![\d/.])1\/2 (?=of\b)/g, 'half '],
  [/(?<![\d/.])1\/4 (?=of\b)/g, 'a quarter '],
  [/(?<![\d/.])3\/4 (?=of\b)/g, 'three quarters '],

  // Durations
  [/\b(?:a )?half[- ]hour\b(?! of)/gi, '30-minute'],
  [pattern.gi`\b(?:an? |one[- ])?${unitOfTime}-long\b`, '1-$1'],
  [pattern.giu`(?<=[\p{L}\d]-${unitOfTime})-long\b`, ''],

  // Dates and times
  [pattern.g`(?<!\w)(${keysOf(clear)})(?!\w)\.?(?!\.\w)`, longFor],
  [
    pattern.gu`(?<=\b(?:\d{1,2}(?:st|nd|rd|th)?(?: of)?|every|each|next|last) )(${keysOf(unclear)})\b\.?(?! \p{Lu})`,
    longFor,
  ],
  [
    pattern.g`\b(${keysOf(unclear)})\b\.?(?=,? \d|(?:-| to | through | thru | or | and | & )${either}\b| at (?:noon|\d)| (?:morning|afternoon|evening|night)\b)`,
    longFor,
  ],
  [
    pattern.g`(?<=\b${either}(?:-| to | through | thru | or | and | & ))(${keysOf(unclear)})\b\.?`,
    longFor,
  ],
  [pattern.g`(?<=\b${weekday})(?:-| through | thru )(?=${weekday})`, ' to '],
  [
    /(?<![\w./-]|\b(?:called|named|folder|file|branch|tag) )(\d{4})-(\d\d)-(\d\d)(?![\w/-]|\.\w)/g,
    isoDate,
  ],
  [pattern.g`\b(?:the )?(\d{1,2})(?:st|nd|rd|th)?(?: of)? ${month},? (\d{4})\b`, '$1 $2 $3'],
  [pattern.g`\b${month} (?:the )?(\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`, '$2 $1 $3'],
  [/(?<=\d(?::\d\d)? ?[ap]m) ?- ?(?=\d)/gi, ' to '],
  // Ranges of days: "3 to 14 August", "August 3 to 14", "August 3rd through August 14th".
  [
    pattern.g`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)?(?:-| to | through | until )(\d{1,2})(?:st|nd|rd|th)?(?: of)? ${month}\b`,
    '$1 $3 to $2 $3',
  ],
  [
    pattern.g`\b${month} (\d{1,2})(?:st|nd|rd|th)?(?:-| to | through | until )(?:\1 )?(\d{1,2})(?:st|nd|rd|th)?(?! ?(?:[ap]m|:|%|${monthNames}))\b`,
    '$2 $1 to $3 $1',
  ],
  [pattern.g`\bduring ${month}\b`, 'in $1'],
  [/\bthis evening\b/gi, 'tonight'],
  [/(?<=, |\()e\.g\.(?=,? \p{L})/giu, 'for example'],
  [
    /(?<=\b(?:invoice|order|ticket|issue|chapter|page|room|flight|bus|line|step|exercise|section|episode|gate|platform) )(?:no\.|nr\.|number|num\.|#) ?(?=\d+(?:$|[?!,]|\.(?:\s|$)| (?:to|and|or|on|in|from|of|for|by|with|is|was)\b))/gi,
    '',
  ],
  [/(?<=\b(?:[1-9]|1[0-2])(?::\d\d)?) in the morning\b/gi, ' am'],
  [/(?<=\b(?:[1-9]|1[01])(?::\d\d)?) in the (?:afternoon|evening)\b/gi, ' pm'],
  [/(?<=\b(?:19|20)\d0)'s\b/g, 's'],
  [/\b(?:12|twelve) (?=noon\b|midnight\b)/gi, ''],
  [
    /\b(?:the )?(first|second|third|fourth|1st|2nd|3rd|4th)[- ]quarter(?= .*\b(?:sales|revenue|earnings|review|report|results|budget|fiscal|goals|OKRs?)\b)(?!.*\b(?:Excel|data ?set|statistics)\b)/gi,
    quarter,
  ],
  [/\bUTC([+-])0?(\d{1,2}):00\b/g, 'UTC$1$2'],
  [pattern.g`\b(?:${timeZoneNames})\b`, name => timeZones.get(name.replaceAll(' ', '_')) ?? name],
  [/\bnineteen[- ](thirties|forties|fifties|sixties|seventies|eighties|nineties)\b/gi, decade],
];

function temperature(_: string, scale: string): string {
  return /^f/i.test(scale) ? ' degrees Fahrenheit' : ' degrees Celsius';
}

function mixedNumber(_: string, whole: string, part: string): string {
  return `${whole || '0'}${fractions.get(part) ?? ''}`;
}

/** Converts an ISO date, such as 2026-07-04, to "4 July 2026". Month and day must exist. */
function isoDate(all: string, year: string, monthDigits: string, day: string): string {
  const name = monthNumbers[Number(monthDigits) - 1];
  return name && Number(day) >= 1 && Number(day) <= 31 ? `${Number(day)} ${name} ${year}` : all;
}

function quarter(_: string, ordinal: string): string {
  const place = ['first', 'second', 'third', 'fourth'].indexOf(ordinal.toLowerCase());
  return `Q${place < 0 ? ordinal[0] : place + 1}`;
}

function decade(_: string, name: string): string {
  const tens = ['thirties', 'forties', 'fifties', 'sixties', 'seventies', 'eighties', 'nineties'];
  return `19${tens.indexOf(name.toLowerCase()) + 3}0s`;
}

/** Replaces the marks of feet and inches, as in `6'2"` and `a 27" monitor`. Two double marks may be quotation marks. */
function withPlainInches(text: string): string {
  const rest = text.replaceAll(/(?<=\d)'(\d{1,2})"(?!\w)/g, ' feet $1 inches');
  return rest.split('"').length === 2 ? rest.replace(/(?<=\d)"(?=\s|$)/, ' inches') : rest;
}

const allNotations = [...abbreviations, ...notations, ...versions];

/**
 * Rewrites details of an English request in one common notation: "180 °C" as "180 degrees Celsius", "July 4th, 1976" as
 * "4 July 1976", "Angular v17" as "Angular 17". Replaces only notations with the same meaning in every context. In a
 * prompt about notations, replaces only names.
 */
export function withPlainNotations(text: string): string {
  return text.length > maxLength ? text : outsideQuotations(withPlainInches(text), inOneNotation);
}

function inOneNotation(text: string): string {
  const named = nameNotations.reduce(
    (rest, [pattern, name]) => rest.replaceAll(pattern, name),
    text,
  );
  const rest = aboutNotation.test(text) ? named : replaced(named, allNotations);
  return rest.replaceAll(/ {2,}/g, ' ').trim();
}
