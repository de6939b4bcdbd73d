import { pattern } from '../technical-names.ts';
/** Pattern for a word of an item. Conjunctions and prepositions do not match, because they end an item. */
const word = String.raw`(?!(?:and|or|but|that|which|who|with|without|for|from|to|in|on|at|by|of|if|when|while|as|not|no|is|are)\b)[\p{L}\d][\p{L}\d'&-]*`;
/** Pattern for a word, or up to two after an article: in "low-fat cheese and milk", "low-fat" may refer to both. */
const item = String.raw`(?:(?:an?|the|my|our) ${word}(?: ${word})?|${word})`;
const listOf = (one: string): string => String.raw`((?:${one}, ){0,6}${one},? (?:and|or) ${one})`;
/** Pattern for the end of a sentence. Words after a list may belong to its last item only. */
const end = String.raw`(?=$|[.?!;])`;

const dish =
  '(?:dish(?:es)?|dinners?|lunch(?:es)?|breakfasts?|snacks?|meals?|desserts?|soups?|stews?|salads?|curr(?:y|ies)|pasta|pizzas?|sandwich(?:es)?|smoothies?|cocktails?|casseroles?|omelettes?|risottos?|cakes?|pies?|sauces?|drinks?|juices?)';
const relative =
  '(?:wife|husband|partner|son|daughter|mother|mum|mom|father|dad|parents|brother|sister|kids?|children|baby|toddler|grandmother|grandfather|friends?|boyfriend|girlfriend|fianc[ée]e?|aunt|uncle|cousins?|dogs?|cats?)';
/** Things that people search for by their features. */
const place =
  '(?:hotels?|hostels?|apartments?|flats?|rooms?|houses?|restaurants?|caf[ée]s?|campsites?|gyms?|hikes?|parks?|laptops?|phones?|cameras?|cars?)';
const quality =
  '(?:affordable|big|calm|cheap|clean|compact|comfortable|cozy|cosy|durable|easy|fast|friendly|gentle|healthy|light|modern|quiet|reliable|robust|safe|secure|simple|small|spicy|tasty|warm)';
const person = `(?:(?:who|he|she|they|i|we)|(?:my|our|his|her) ${relative})`;
const number = String.raw`-?\d+(?:\.\d+)?`;

/** Words in a prompt after which the order of its lists may matter, or a list may be a quoted text. */
const ordered =
  /\b(?:respectively|orders?|ordered|sequence|series|then|first|next|finally|last|rank\w*|priorit\w*|sort\w*|group\w*|label\w*|courses?|menu|layer\w*|steps?|stages?|phases?|before|after|left|right|top|bottom|flags?|stripes?|pattern|say|said|translat\w*|spell\w*|title\w*|starts?|begins?|ends?|named|called|weight\w*)\b/i;
/** Items whose order may matter: colours (of stripes) and participles (steps). Or, with a verb, another sentence. */
const meant =
  /^(?:red|white|blue|green|black|yellow|orange|purple|pink|brown|gold|silver|gr[ae]y)$|^\w+ed\b|^(?:very|too|so|really|more|less|most|least|quite|only|both|either|neither|few|fewer|little|zero|half)$|n't\b|\b(?:do|does|did|can|could|will|would|have|has|had|i|we|you|it|they)\b/i;
/** Matches an item that is another dish, and not an ingredient of the first dish. */
const besideDish = pattern.i`^an? .*\b${dish}$`;

const itemsOf = (list: string): readonly string[] => list.split(/,? (?:and|or) |, /);

function sortedList(list: string): string {
  const joint = / or (?!.* (?:and|or) )/.test(list) ? 'or' : 'and';
  const keyOf = (one: string) => one.toLowerCase().replace(/^(?:an?|the|my|our) /, '');
  const [last, ...others] = itemsOf(list)
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))))
    .toReversed();
  return `${others.toReversed().join(', ')} ${joint} ${last}`;
}

/** Returns a pattern for a list after words after which the order never matters. */
const free = (opening: string, list: string, close = end): RegExp =>
  pattern.iu`(?:${opening})${list}${close}`;

/** Patterns for lists without an order: ingredients, what somebody likes, properties of one thing, numbers of a sum. */
const lists: readonly RegExp[] = [
  free(
    String.raw`\b(?:recipes?(?: for ${item})?|${dish}(?: (?:recipes?|ideas?))?) (?:with|using|containing|made (?:with|of|from)|that (?:uses|contains|has|includes)) `,
    listOf(item),
  ),
  free(
    String.raw`^what can i (?:cook|make|bake|prepare)(?: (?:tonight|today|for dinner|for lunch))? (?:with|using|from) `,
    listOf(item),
  ),
  free(
    String.raw`\b${person} (?:likes?|loves?|enjoys?|hates?|dislikes?|(?:is|am|are) (?:allergic to|interested in)) `,
    listOf(item),
  ),
  free(
    String.raw`\b${place}(?: (?:in|near) ${word})? (?:with|that ha(?:s|ve)) |\b(?:story|novel|tale) (?:with|featuring|that (?:has|features|includes|contains)) `,
    listOf(String.raw`(?:an?|the) ${word}(?: ${word})?`),
  ),
  free(String.raw`\b(?:with|for) `, listOf(`(?:my|our) ${relative}`)),
  free(String.raw`\b(?:that|which) (?:is|are) `, listOf(quality)),
  free(
    String.raw`(?:^|\b(?:is|calculate|compute|find) )(?:the )?(?:sum|average|mean|median|least common multiple|lcm|greatest common (?:divisor|factor)|gcd) of |^add up `,
    listOf(number),
  ),
  free(String.raw`^compare [^,.;:?!]{3,80} in terms of `, listOf(item)),
  free(
    String.raw`^(?:remove|delete|drop|uninstall|define|explain) the (?:columns|branches|files|fields|terms|words|concepts|tables|tags|packages|users|rows|containers|images|variables) `,
    listOf(word),
    String.raw`(?=$|[.?!;]| from )`,
  ),
  free(
    String.raw`^(?:(?:what|how|which \p{L}+) )?(?:do|did|can|could) `,
    listOf(word),
    String.raw`(?= (?:have|affect|differ|exist|belong|contain|include|require|tolerate|eat|behave|influence|live)\b)`,
  ),
];

/**
 * Sorts the lists of a request whose order does not matter. Sorts nothing if the request also has another list or a
 * number, because each item may belong to one of those.
 */
export function withSortedLists(text: string): string {
  if (!/ (?:and|or) /i.test(text) || ordered.test(text)) return text;
  let rest = text;
  for (const pattern of lists)
    rest = rest.replace(pattern, (all: string, list: string) => {
      const others = rest.replace(list, '');
      const isAlone = !/ (?:and|or) |\d/i.test(others);
      const isMeant = itemsOf(list).some(one => meant.test(one) || besideDish.test(one));
      return isAlone && !isMeant ? all.replace(list, () => sortedList(list)) : all;
    });
  return rest;
}
