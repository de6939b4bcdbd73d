/** Splits a text at whitespace. */
export const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

export const wordSet = (text: string): ReadonlySet<string> => new Set(wordsOf(text));

/** Frequent small words, by language. */
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

/** Counts the small words of each language in a text. The language with the highest count is first. */
export const countSmallWords = (words: readonly string[]) =>
  [...languages]
    .map(([name, small]) => ({ name, count: words.filter(word => small.has(word)).length }))
    .toSorted((a, b) => b.count - a.count);

/** Returns the language with the most small words in a text; undefined if another language has as many. */
export function languageOf(words: readonly string[]): string | undefined {
  const [first, second] = countSmallWords(words);
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
  adapt adjust allow announce append ask assign attach avoid bring brainstorm capture categorize center check
  choose close collect come compile compose condense connect cover cut decide deduplicate demonstrate detail diagnose
  disconnect dockerize download edit embed enable encode encrypt ensure enter escape examine expand explore expose
  filter flatten follow gather guide hide highlight illustrate increase initialize inform instrument introduce invite
  join label launch leave limit link load lock look lower make map mark match mention minify mount normalize notify
  number order outline override pack paraphrase patch pick plot point polish prefer prevent profile proofread protect
  publish quit raise rank rate recap reconnect record redirect refine refresh register reject remind render repeat
  report request require reset resize resolve respond restart restore restrict retry return reuse revert revise rotate
  round sample scaffold scale scan secure select send serialize serve share sign sketch skip specify spell spot squash
  stash state store strip structure submit swap switch teach test throttle throw tighten toggle transform trigger trim
  troubleshoot truncate unify upload visualize wait warn watch work
  erkläre schreibe erstelle zeige übersetze füge behebe prüfe fasse liste lösche baue benenne
  explique écris corrige crée montre traduis convertis ajoute supprime génère
  explica escribe corrige crea muestra traduce convierte añade genera`);

/** Verbs after "can you" in requests: "Can you explain" is one, but "can you rename a column" may be a question. */
export const talk =
  wordSet(`explain describe show give help review summarize summarise tell walk rewrite
  refactor simplify improve debug clean fix check look optimize optimise generate draft compose
  proofread rephrase reword paraphrase translate brainstorm suggest recommend propose outline shorten`);

/** Verbs after "could you" in requests. */
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
  second finally also now when while using next today tomorrow yesterday tonight later soon often sometimes usually
  recently currently instead otherwise additionally meanwhile lately afterwards eventually still again there my our your let here some all every each both either once
  der die das ein eine mit ohne für vor nach in im auf le la les un une dans avec sans el los las una con
  sin en`);

/** True if a capitalized word at the beginning of a sentence is not a name. */
export const isOpener = (word: string): boolean =>
  requests.has(word) || questions.has(word) || small.has(word);

const predicates =
  wordSet(`is are was were should must has have does can will may returns contains gets
  throws inherits extends implements equals`);

/** True if a verb of requests may be the name of a type at the beginning of a sentence, as in "List is empty". */
export const isTypeName = (word: string, next: string): boolean =>
  requests.has(word.toLowerCase()) && predicates.has(next);

export const negators = wordSet(`not no never none nothing neither nor without avoid cannot nobody
  nowhere except unless
  nicht kein keine keinen keinem keiner nie niemals ohne nichts außer
  pas jamais sans aucun aucune rien sauf
  nunca sin nada ningún ninguna ninguno excepto tampoco`);

/** Quantities, frequencies and ordinals. Another one makes another request. */
export const measures = wordSet(`only all every each any both either exactly strictly least most
  first second third last next previous once twice always optional optionally required
  public private weighted nested recursive recursively again
  nur alle jede jeder jedes mindestens höchstens erste letzte zweite immer
  seulement tous toutes chaque premier première dernier dernière toujours
  solo todos todas cada primero primera último última siempre`);

export const times =
  wordSet(`today tomorrow yesterday tonight now later soon daily weekly monthly yearly
  hourly annually before after during since until till while noon midnight week month year
  heute morgen gestern täglich wöchentlich monatlich jährlich vorher nachher
  aujourd'hui demain hier hoy mañana ayer`);

/** Splits a table into rows, which are separated by `|`, and rows into words. */
export const rowsOf = (table: string) => table.split('|').map(wordsOf);

/** Maps the first word of each row of a table to the second: `day daily | week weekly`. */
export const tableOf = (table: string): ReadonlyMap<string, string> =>
  new Map(rowsOf(table).map(([word = '', value = '']) => [word, value] as const));

/** Returns the length of the common beginning of two words or lists. */
export function commonLength(a: ArrayLike<string>, b: ArrayLike<string>): number {
  const shortest = Math.min(a.length, b.length);
  let same = 0;
  while (same < shortest && a[same] === b[same]) same++;
  return same;
}

/** Maps each word in groups such as `javascript=js` to its normalized spelling, which is the first of the group. */
const spellingsOf = (groups: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    groups.flatMap(group => {
      const spellings = group.split('=');
      return spellings.map(word => [word, spellings[0] ?? word] as const);
    }),
  );

/** Groups of contrasting words, with the meaning of each word. `=` joins words with the same meaning. */
export const contrasts = rowsOf(`
  add=adds=added=adding remove=removes=removed=removing=delete=deletes=deleted=deleting=drop |
  enable=enables=enabled=enabling disable=disables=disabled=disabling |
  increase=increases=raise=increasing=increased decrease=decreases=lower=reduce=decreasing=decreased |
  open=opens=opened close=closes=closed | show=shows=display=reveal hide=hides=hidden=conceal |
  start=starts=started stop=stops=stopped |
  encrypt=encrypts=encrypted=encryption decrypt=decrypts=decrypted=decryption |
  encode=encodes=encoded=encoding decode=decodes=decoded=decoding |
  serialize=serialise=serialization deserialize=deserialise=deserialization |
  compress=zip decompress=unzip=extract | lock=locks=locked unlock=unlocks=unlocked |
  minimize=minimise maximize=maximise |
  minimum=min=lowest=smallest maximum=max=highest=biggest=largest |
  allow=permit forbid=deny=block=prohibit | accept=accepts=accepted reject=rejects=rejected |
  include=includes=including exclude=excludes=excluding |
  upload=uploads=uploading download=downloads=downloading | import=imports export=exports |
  install=installs uninstall=uninstalls | push=pushes pull=pulls commit=commits |
  mount=mounts unmount | subscribe=subscribes unsubscribe | attach detach |
  login=logged-in logout=logged-out | undo redo | expand collapse |
  sync=synchronous=synchronously async=asynchronous=asynchronously |
  ascending=asc descending=desc | left right | up down | top bottom | front back |
  inside outside | internal external | input=inputs output=outputs |
  request=requests response=responses | source destination=target |
  sender=sends receiver=receives | client=clients server=servers | parent child |
  producer consumer | frontend=front-end backend=back-end | inner outer left right full cross |
  before after | first last second third | next previous | until while |
  starts=start=begins ends=end=finishes | today tomorrow yesterday |
  monday tuesday wednesday thursday friday saturday sunday |
  january february march april may june july august september october november december |
  hourly daily weekly monthly yearly |
  day=days week=weeks month=months year=years hour=hours minute=minutes second=seconds |
  public private protected | local remote | optional required=mandatory | static dynamic |
  mutable immutable | shallow deep | greedy lazy | strict loose | odd even | positive negative |
  true false | same different | old new | oldest newest |
  short=brief=shorter long=detailed=longer | small=smaller big=large=bigger=larger |
  fast=faster=quick=quicker=speed slow=slower | more less=fewer | many few |
  high=higher low=lower | safe unsafe | simple=simpler complex=complicated | valid invalid |
  passes=pass=passing=succeeds fails=fail=failing |
  advantages=advantage=pros=benefits disadvantages=disadvantage=cons=drawbacks |
  success=successful failure=unsuccessful | light dark |
  horizontal=horizontally vertical=vertically | row=rows column=columns | width height depth |
  mean=average median mode | sum product difference |
  parser=parse=parsing lexer=tokenizer=lexing compiler=compile interpreter linter=lint formatter |
  tab=tabs space=spaces | stack=stacks queue=queues heap deque |
  list=lists array=arrays set map tuple tree=trees graph=graphs |
  class=classes interface=interfaces struct enum function=functions component=components hook=hooks |
  unit integration e2e=end-to-end | merge=merging rebase=rebasing squash cherry-pick |
  bar pie line scatter | get post put patch delete | time-complexity space-complexity |
  time space memory | authentication=authenticate authorization=authorize |
  camelcase snake_case kebab-case pascalcase |
  process=processes thread=threads coroutine=coroutines | mutex semaphore | tcp udp | http https |
  test=tests documentation=docs | unit-tests integration-tests | error=errors warning=warnings |
  cat dog | breadth-first=bfs depth-first=dfs | quicksort mergesort heapsort bubblesort |
  recursion=recursive=recursively iteration=iterative=iteratively | stable beta nightly |
  major minor | development staging production | question answer | encoder decoder | mit ohne |
  vor nach | öffentlichen=öffentliche=öffentlicher privaten=private=privater |
  erlaube=erlauben verbiete=verbieten | erhöhe verringere | öffne schließe | starte stoppe |
  aktiviere deaktiviere | avant après | avec sans | ajoute supprime | con sin | antes después |
  añade elimina
`).map(spellingsOf);

/** For each word, the number of its group of synonyms. */
const synonyms: ReadonlyMap<string, number> = new Map(
  rowsOf(`
  fix repair correct | write create make generate build produce | explain describe |
  delete remove drop | show list display print output give | improve optimize optimise enhance |
  convert transform change turn | find locate search | check verify validate test |
  use utilize apply employ | kill end terminate | organize group arrange | clean tidy |
  rewrite rephrase reword | configure setup | start begin launch | big large | fast quick |
  bug mistake problem issue | do can should | warum weshalb wieso
`).flatMap((set, number) => set.map(word => [word, number] as const)),
);

/** For each word, the groups of synonyms and contrasts that have it. */
const groupsOf = Map.groupBy(
  [synonyms, ...contrasts].flatMap(group => [...group.keys()].map(word => ({ word, group }))),
  ({ word }) => word,
);

/** True if two words mean the same: they are in one group of synonyms, or on one side of a contrast. */
export const areSynonyms = (a: string, b: string): boolean =>
  groupsOf.get(a)?.some(({ group }) => group.get(a) === group.get(b)) ?? false;

/**
 * Normalized spelling of each name of a language, tool, service or system, by its spellings in lower case. Everyday
 * English words (go, swift, node, spring) are left out, because they are names only if capitalized.
 */
export const names = spellingsOf(
  wordsOf(`javascript=js=ecmascript typescript=ts python=py python3 python2 java kotlin scala ruby rust
  golang php perl haskell erlang elixir clojure fortran cobol matlab julia c++=cpp c#=csharp f# .net
  objective-c bash zsh powershell lua solidity ocaml wasm=webassembly
  json yaml=yml xml csv tsv toml html css scss sass sql graphql protobuf markdown=md latex jsonc
  parquet avro svg pdf utf-8=utf8 base64 ascii unicode jwt oauth oauth2 saml ldap http https http/2 tcp
  udp dns tls ssl ssh ftp sftp smtp imap websocket=websockets grpc mqtt amqp api apis cli gui
  sdk orm cors csrf xss crud cdn vpn ipv4 ipv6 url uri utc
  react=reactjs vue=vuejs svelte sveltekit angular angularjs nextjs=next.js nuxt preact jquery
  redux zustand mobx tailwind=tailwindcss bootstrap webpack vite rollup esbuild babel eslint
  prettier jest vitest mocha jasmine cypress playwright selenium puppeteer storybook pytest unittest
  junit rspec npm yarn pnpm deno nodejs=node.js fastify koa nestjs django fastapi rails
  laravel symfony hibernate maven gradle pip conda cargo homebrew pandas numpy scipy
  pytorch tensorflow keras sklearn=scikit-learn jupyter hadoop airflow dbt lodash axios zod prisma
  sequelize typeorm sqlalchemy celery
  postgres=postgresql mysql mariadb sqlite mongodb=mongo redis memcached hazelcast cassandra dynamodb
  elasticsearch opensearch clickhouse snowflake bigquery mssql firebase supabase neo4j qdrant
  kafka rabbitmq nats sqs zeromq
  docker podman kubernetes=k8s helm terraform ansible pulumi vagrant nginx apache haproxy traefik
  envoy istio prometheus grafana datadog sentry jenkins github gitlab bitbucket circleci aws azure gcp
  s3 ec2 heroku vercel netlify cloudflare stripe paypal twilio auth0 okta keycloak
  linux windows macos=osx ubuntu debian fedora centos alpine archlinux android ios wsl
  chrome firefox safari vim neovim emacs vscode intellij xcode git mercurial svn
  openai anthropic claude chatgpt gpt ollama llama gemini mistral copilot langchain
  english german french spanish italian portuguese dutch russian chinese japanese korean turkish
  arabic hindi swedish deutsch englisch französisch spanisch`),
);

/** Numbers in words, with their digits. "one" is left out, because it is mostly a pronoun. */
export const numerals: ReadonlyMap<string, string> = new Map(
  wordsOf(
    `two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen`,
  )
    .map((word, at) => [word, String(at + 2)] as const)
    .concat(
      wordsOf('twenty thirty forty fifty sixty seventy eighty ninety hundred').map(
        (word, at) => [word, String(at * 10 + 20)] as const,
      ),
    ),
);

/** Ordinals in words, by their spelling with digits. */
export const ordinals = tableOf(
  `1st first | 2nd second | 3rd third | 4th fourth | 5th fifth | 6th sixth | 7th seventh | 8th eighth | 9th ninth |
  10th tenth`,
);
