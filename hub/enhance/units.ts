import { rowsOf } from './words.ts';

/** Normalized spelling of each unit, by all its spellings. Case matters: Mb is not MB. */
export const units: ReadonlyMap<string, string> = new Map(
  rowsOf(`
  ns: ns nanosecond nanoseconds | us: µs microsecond microseconds |
  ms: ms msec millisecond milliseconds Millisekunden |
  s: s sec secs second seconds Sekunde Sekunden seconde secondes segundo segundos |
  min: min mins minute minutes Minute Minuten minuto minutos |
  h: h hr hrs hour hours Stunde Stunden heure heures hora horas |
  d: d day days Tag Tage Tagen jour jours día días |
  wk: week weeks Woche Wochen semaine semaines semana semanas |
  mo: month months Monat Monate Monaten mois mes meses |
  y: year years Jahr Jahre Jahren ans año años | bit: bit bits | B: B byte bytes |
  kB: kB KB kb kilobyte kilobytes | MB: MB mb megabyte megabytes | GB: GB gb gigabyte gigabytes |
  TB: TB tb terabyte terabytes | KiB: KiB kibibyte kibibytes | MiB: MiB mebibyte mebibytes |
  GiB: GiB gibibyte gibibytes | TiB: TiB tebibyte tebibytes | Mb: Mb Mbit megabit megabits | Gb: Gb Gbit gigabit gigabits |
  kbps: kbps Kbps | Mbps: Mbps | Gbps: Gbps | px: px pixel pixels Pixel | rem: rem | em: em | pt: pt | vh: vh | vw: vw |
  pct: % percent Prozent | mm: mm millimeter millimeters millimetre millimetres |
  cm: cm centimeter centimeters centimetre centimetres | m: m meter meters metre metres |
  km: km kilometer kilometers kilometre kilometres | mi: mi mile miles | inch: inch inches | ft: ft foot feet |
  yd: yd yard yards | mph: mph | kmh: kmh | sqm: sqm | sqkm: sqkm | sqft: sqft | sqmi: sqmi | mg: mg milligram milligrams |
  g: g gram grams gramme grammes | kg: kg kilogram kilograms kilo kilos | lb: lb lbs pound pounds | oz: oz ounce ounces |
  ml: ml mL milliliter milliliters millilitre millilitres | L: L liter liters litre litres |
  tbsp: tbsp Tbsp tablespoon tablespoons | tsp: tsp teaspoon teaspoons | gal: gal gallon gallons | Hz: Hz hz hertz |
  kHz: kHz kilohertz | MHz: MHz megahertz | GHz: GHz gigahertz | V: V volt volts | W: W watt watts |
  kW: kW kilowatt kilowatts | kWh: kWh | mAh: mAh | am: am AM a.m. | pm: pm PM p.m. | usd: $ usd USD dollar dollars |
  eur: € eur EUR euro euros Euro | gbp: £ GBP
`).flatMap(([unit = '', ...spellings]) =>
    spellings.map(spelling => [spelling, unit.replace(':', '')] as const),
  ),
);
