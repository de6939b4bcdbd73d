/** Splits a text at blanks. */
export const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

export const wordSet = (text: string): ReadonlySet<string> => new Set(wordsOf(text));

/** Frequent small words by language. */
const languages: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'en',
    wordSet(`the a an is are was were does do did this that these those with without for from of and
      or not how what why which where when who can could should would you my your our it its to write
      explain show give make list use add create please`),
  ],
  [
    'de',
    wordSet(`der die das den dem des ein eine einen einem einer ist sind war und oder nicht kein keine
      mit ohne für von zu zum zur im ins auf aus bei nach wie was warum weshalb welche wo wann wer kann
      kannst ich du mir mich diese dieser dieses diesen schreibe erkläre erstelle zeige bitte soll wird`),
  ],
  [
    'fr',
    wordSet(`le la les un une des du de est sont et ou ne pas avec sans pour par dans sur ce cette ces
      cet comment pourquoi quel quelle que qui je tu vous mon ma écris explique corrige crée montre
      traduis en au aux moi ton est-ce`),
  ],
  [
    'es',
    wordSet(`el la los las un una unos unas del de es son y o no con sin para por en este esta estos
      estas cómo como qué por cuál dónde yo tú mi su escribe explica corrige crea muestra traduce al
      puedo se`),
  ],
]);

/** The language with the most small words in a text; undefined for a tie. */
export function languageOf(words: readonly string[]): string | undefined {
  const counts = [...languages]
    .map(([name, small]) => ({ name, count: words.filter(word => small.has(word)).length }))
    .toSorted((a, b) => b.count - a.count);
  const [first, second] = counts;
  return first && first.count > (second?.count ?? 0) ? first.name : undefined;
}

/** Verbs at the beginning of requests. */
export const requests =
  wordSet(`add analyze annotate answer apply architect ask benchmark build bump
  calculate change check classify clean clear combine commit compare complete compute configure
  convert copy correct count create debug define delete deploy describe design detect determine
  disable display document do draft draw enable estimate evaluate explain export extend extract fetch
  fill find fix format generate get give group handle help identify implement import improve include
  inline insert inspect install integrate investigate keep kill let list locate log make measure merge
  migrate mock modify move name open optimise optimize organize output parse plan port prepare print
  produce propose prove provide pull push put read rebase recommend reduce refactor reformat remove
  rename reorder rephrase replace reply review rewrite run save scan schedule search set shorten show
  simplify solve sort speed split start stop style suggest summarise summarize support test tidy trace
  translate turn undo update upgrade use validate verify walk wrap write
  erkläre schreibe erstelle zeige übersetze füge behebe prüfe fasse liste lösche baue benenne
  explique écris corrige crée montre traduis convertis ajoute supprime génère
  explica escribe corrige crea muestra traduce convierte añade genera`);

/** "Can you explain" is a request, while "can you rename a column" may be a question. */
export const talk =
  wordSet(`explain describe show give help review summarize summarise tell walk rewrite
  refactor simplify improve debug clean fix check look optimize optimise`);

/** Verbs with which "could you" is a request. */
export const asked = new Set([
  ...talk,
  ...wordsOf(`write add create make convert document build remove list find translate generate draft
    suggest recommend analyze compare`),
]);

/** Words at the beginning of questions. */
export const questions =
  wordSet(`what how why which where when who whose whom is are was were do does
  did can could should would will has have had may must
  was wie warum weshalb welche welcher welches wo wann wer ist sind kann
  comment pourquoi quel quelle quels quelles qui où quand combien
  qué cómo por cuál cuáles dónde cuándo quién`);

/** Small words that may begin a sentence. */
export const small =
  wordSet(`the a an this that these those it there they we you i he she if in on at
  for from with without before after as by to of and or but not no never always only just then first
  second finally also now when while using my our your let here some all every each both either once
  der die das ein eine mit ohne für vor nach in im auf le la les un une dans avec sans el los las una con
  sin en`);

/** Whether a capitalized word at the beginning of a sentence is not a name. */
export const isOpener = (word: string): boolean =>
  requests.has(word) || questions.has(word) || small.has(word);

/** Negations. */
export const negators = wordSet(`not no never none nothing neither nor without avoid cannot nobody
  nowhere except unless
  nicht kein keine keinen keinem keiner nie niemals ohne nichts außer
  pas jamais sans aucun aucune rien sauf
  nunca sin nada ningún ninguna ninguno excepto tampoco`);

/** Quantities, frequencies and ordinals: a request changes with them. */
export const measures = wordSet(`only all every each any both either exactly strictly least most
  first second third last next previous once twice always optional optionally required
  public private weighted nested recursive recursively again
  nur alle jede jeder jedes mindestens höchstens erste letzte zweite immer
  seulement tous toutes chaque premier première dernier dernière toujours
  solo todos todas cada primero primera último última siempre`);

/** Times. */
export const times =
  wordSet(`today tomorrow yesterday tonight now later soon daily weekly monthly yearly
  hourly annually before after during since until till while noon midnight week month year
  heute morgen gestern täglich wöchentlich monatlich jährlich vorher nachher
  aujourd'hui demain hier hoy mañana ayer`);
