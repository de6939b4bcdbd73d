import { wordsOf } from './words.ts';

/** Numbers written as words, without "one", which is mostly a pronoun. */
export const numerals: ReadonlyMap<string, string> = new Map(
  wordsOf('two three four five six seven eight nine ten eleven twelve').map((word, at) => [
    word,
    String(at + 2),
  ]),
);

const spellings: Readonly<Record<string, string>> = {
  ns: 'ns nanosecond nanoseconds',
  us: 'µs microsecond microseconds',
  ms: 'ms msec millisecond milliseconds Millisekunden',
  s: 's sec secs second seconds Sekunde Sekunden seconde secondes segundo segundos',
  min: 'min mins minute minutes Minute Minuten minuto minutos',
  h: 'h hr hrs hour hours Stunde Stunden heure heures hora horas',
  d: 'd day days Tag Tage Tagen jour jours día días',
  wk: 'week weeks Woche Wochen semaine semaines semana semanas',
  mo: 'month months Monat Monate Monaten mois mes meses',
  y: 'year years Jahr Jahre Jahren ans año años',
  bit: 'bit bits',
  B: 'B byte bytes',
  kB: 'kB KB kb kilobyte kilobytes',
  MB: 'MB mb megabyte megabytes',
  GB: 'GB gb gigabyte gigabytes',
  TB: 'TB tb terabyte terabytes',
  KiB: 'KiB',
  MiB: 'MiB',
  GiB: 'GiB',
  Mb: 'Mb Mbit',
  Gb: 'Gb Gbit',
  px: 'px pixel pixels Pixel',
  rem: 'rem',
  em: 'em',
  pt: 'pt',
  vh: 'vh',
  vw: 'vw',
  pct: '% percent Prozent',
  mm: 'mm',
  cm: 'cm',
  m: 'm meter meters metre metres',
  km: 'km kilometer kilometers kilometre kilometres',
  mi: 'mi mile miles',
  mg: 'mg',
  g: 'g gram grams',
  kg: 'kg kilogram kilograms',
  lb: 'lb lbs pound pounds',
  Hz: 'Hz hz',
  kHz: 'kHz',
  MHz: 'MHz',
  GHz: 'GHz',
  am: 'am AM a.m.',
  pm: 'pm PM p.m.',
  usd: '$ usd USD dollar dollars',
  eur: '€ eur EUR euro euros Euro',
};

/** The normalized spelling of each unit. Case matters: Mb is not MB. */
export const units: ReadonlyMap<string, string> = new Map(
  Object.entries(spellings).flatMap(([unit, written]) =>
    wordsOf(written).map(spelling => [spelling, unit] as const),
  ),
);
