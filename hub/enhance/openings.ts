import { pattern } from './technical-names.ts';

/** Pattern for words such as "just" between "I" and its verb, or after the verb. */
const hedge = String.raw`(?: (?:just|really|simply|basically|actually|now|currently|only|kind of|sort of))*`;
/** Words that a person says before the request itself. */
const discourse = String.raw`(?:so|ok|okay|well|right|alright|all right|now|anyway|anyways|basically|actually|look|listen|hmm|um|oh)`;
const wish = String.raw`(?:'d|’d| would)?${hedge} (?:need|want|like|love|prefer)`;

/** Matches words that announce a request after a colon. */
export const announcement = new RegExp(
  String.raw`^(?:(?:hi|hello|hey)(?: there)?\s*[,.!]\s*|${discourse}(?: then)?[,.!]?\s+)*(?:${[
    '(?:i (?:have|had|got) (?:an?|one|another) |just |a |one |another |my |your )?(?:more )?(?:quick|short|small|simple|silly|stupid|little|brief)? ?(?:question|task|favou?r|one|thing)(?: (?:for|to) you)?',
    String.raw`(?:i have an?|my)(?: \p{L}+)? request`,
    '(?:i need (?:your|some) )?help',
    'let me (?:think|see)(?:[,.!…]+ ?(?:oh,? )?(?:yes|right|ok|okay))?',
    "(?:i(?:'m|’m| am| was) )?(?:just |only )?(?:wondering|curious|asking|checking)",
    `(?:here(?:'s|’s| is) )?what i${wish}(?: you to do| from you)?(?: is(?: this| the following)?)?`,
    "here(?:'s|’s| is) (?:my|an?|the|your|one) (?:next |new |little |small |quick )?(?:task|question|request|job|assignment)(?: for you)?",
    "(?:please )?(?:let(?:'s|’s| us) )?(?:do|answer) (?:me a favou?r|this|the following)(?: (?:for me|please|now|next))?",
  ].join('|')})\s*:\s*`,
  'iu',
);

/** Pattern for sounds and remarks before a request. */
const remark = String.raw`(?:(?:um+|uh+|erm?|hm+|so|like|ok|okay|yeah|anyway|honestly|lol|haha|btw|by the way|but|me again|let me (?:think|see)|(?:(?:a|one|another|my|just a|just one) )?(?:(?:very|really|super|quick|random|silly|stupid|dumb|small|short|simple|weird|odd|last|more) )*question(?: for you)?)(?:[\s,.!:…-]+)|(?:well|right|yes|yep|frankly|seriously|it's me again|(?:quick|random|last|another|silly) one(?: for you)?)[,.!:…-]+\s*)`;
/** Pattern for the first word of a question or request, which follows a remark such as "by the way". */
const beginning = String.raw`(?=(?:what|how|why|where|which|who|whose|when|can|could|would|will|should|is|are|do|does|did|tell|show|explain|give|write|make|list|find|create|help|i|i'd|please)(?:'s|'re|'d)? )`;

/** Patterns for greetings and polite openings. */
export const leads: readonly RegExp[] = [
  pattern.i`^${discourse}(?: then)?,\s*(?:now,?\s+)?`,
  /^(?:so|ok|okay|alright|basically)(?: then| so| basically| now)* (?=(?:i|i'm|i'd|what|what's|how|how's|why|where|which|who|can|could|would|please|let|let's|just|quick|here|here's|my|go|so|then|do|does|is|are|help|tell|show|explain|give|write|make) )/i,
  /^(?:now |just |please |then )*go ahead and /i,
  /^(?:please )?(?:take|have) a (?:quick |close |closer |good )?look(?: at this)?,? and (?=\p{L}+)/iu,
  pattern.i`^i${wish}(?: for)? you${hedge} to `,
  pattern.iu`^what i${wish}(?: from you)?(?: now| here)? is (?:for you to |you to |to )?(?=\p{L}+ )`,
  pattern.i`^i(?:'d| would|'m| am)?${hedge} (?:need|want|like|love|trying) to (?:know|find out|understand|ask),? (?:exactly )?(?=(?:how|what|why|where|when|which|who|whether|if) )`,
  pattern.i`^i(?:'m| am| was|'ve been| have been| keep)?${hedge} (?:wondering|asking myself|curious|interested)(?: about| to know| as to)?,? (?=(?:how|what|why|where|when|which|who|whether) )`,
  /^sorry (?:for|about) (?:the |my |this |yet )?(?:another )?(?:\p{L}+ )?(?:question|trouble|bother|interruption|spam)s?(?:,? but|,) /iu,
  /^(?:hi|hiya|hey|heya|yo|greetings|hello|hallo|hola|bonjour|salut|moin|good (?:morning|afternoon|evening)|guten (?:tag|morgen|abend)|buenos días)(?: there| all| everyone)?(?:\s*[,.!]+\s+|\s+-\s+)(?!world\b)/i,
  /^(?:hi|hey)(?: there)? (?=(?:can|could|would) you |please |how |what |why )/i,
  /^(?:i have a )?(?:quick|short|small) question\s*[:,.-]\s*/i,
  /^(?:please|pls|plz|kindly|bitte|por favor|s'il (?:te|vous) plaît)[,!]?\s+/i,
  /^(?:i was |i'm |i am |just )?wondering (?:if|whether) you (?:could|can|would) (?:please |kindly )?/i,
  /^(?:dear|hi|hey|hello|good (?:morning|afternoon|evening)) (?:ai|assistant|bot|chatgpt|claude|copilot|team|folks|friend)\s*[,.!:-]+\s*/i,
  /^if you (?:have|get|find) (?:a |some |any )?(?:minute|moment|second|sec|chance|time), /i,
  /^when(?:ever)? you (?:have|get|find) (?:a |some |any )?(?:minute|moment|second|sec|chance|time), /i,
  /^i(?:'d| would) (?:really |very much )?(?:appreciate it|be (?:really |very |so |most |extremely )?(?:glad|happy|grateful|thankful|delighted)|love it|like it) if you (?:could |would |can )?(?:please )?/i,
  /^(?:it|that)(?:'d| would) be (?:really |very |so )?(?:great|nice|helpful|good|lovely|awesome|wonderful|amazing|kind|cool|fantastic|useful) if you (?:could |would |can )?(?:please )?/i,
  /^(?:please )?be (?:so )?(?:kind|nice|good|sweet)(?: enough)? (?:as to|to|and) (?!(?:the|an?|all|any|my|our|your|this|these|every|each|me|us|him|her|them|people|animals)\b)/i,
  /^i? ?hope (?:you(?:'re| are)(?: all)?(?: doing| keeping)? (?:well|good|fine|great|okay)|(?:this|that) (?:finds|reaches) you well|all is well)[.!,]+\s+/i,
  /^if (?:it(?:'s| is) not|it isn't) (?:too much |a )?(?:trouble|bother|hassle|to ask|of a (?:bother|hassle)),? /i,
  /^(?:would|is|might) it be possible (?:for you )?to /i,
  /^(?:can|could|may|might) i ask you to (?:please )?/i,
  /^(?:please )?do me a favou?r,? (?:and )?/i,
  /^(?:is there )?any chance (?:that )?you (?:could|can|would) /i,
  /^(?:do you think|i was hoping|i'm hoping|i am hoping|i hope|maybe|perhaps)(?: that)? you (?:could|can|would|might) /i,
  /^i think (?:that )?you should /i,
  /^thanks(?: (?:a lot|in advance))?(?: for (?:your help|helping)(?: me)?)?[!.,]+\s+/i,
  /^(?:sorry (?:to bother you|for bothering you|to disturb you)|excuse me|pardon me)(?: again)?(?:,| but)+ /i,
  /^(?:just (?:wondering|curious)|i(?:'m| am) (?:just )?curious|out of curiosity|may i ask|can i ask|could i ask|let me ask)[,:]? /i,
  pattern.i`^${remark}+${beginning}`,
  pattern.i`^(?:honestly|frankly|basically|actually|really)?[, ]*i(?:'m| am)? ?(?:just |only )?(?:want|need|would like|trying|'d like) to (?:know|find out|figure out|work out|understand)(?: something)?[:,]? (?=(?:what|how|why|where|which|who|when|whether|if) )`,
  pattern.i`^what i(?:'d| would)? (?:like|want|need|love)(?: you to do| from you)? (?:is|would be)(?: for you| you)?(?: to)? `,
  /^(?:here(?:'s|’s| is) )?(?:one|something|a question) (?:that )?i(?:'ve| have) (?:been meaning|wanted|always wanted) to ask(?: for ages| for a while| you)?[:,.!]? /i,
  /^(?:please )?be (?:a|an) (?:dear|darling|love|star|angel|pal|sport|sweetheart) and /i,
  /^(?:can|could|would|will) you (?:please )?(?:help me out|do me a favou?r|be so kind) (?:and|to|as to) /i,
  /^(?:please )?help me out and /i,
  /^(?:um+|uh+|erm+|hm+)[,.…]+ /i,
  /^(?:you know|i mean|like(?=, (?:what|how|why|where|when|which|who|can|is|are|do|does)\b)), /i,
  /^(?:please )?do one thing[,:]+ (?:please )?/i,
  /^i wonder (?:if|whether) you could (?:please |kindly )?(?=(?:write|draft|explain|translate|summari[sz]e) (?:me|an?|this|my|our|the|how|why|what) )/i,
  /^might you (?=\p{L}+ )/iu,
  /^(?:do you |would you )?mind (?=\p{L}+ing )/iu,
  /^(?:can|could|would|will) you (?:possibly|perhaps|maybe) (?=\p{L}+ )/iu,
  pattern.i`^sorry (?:to|for|about|if) (?:(?!\b(?:not|never|without|no)\b)[^,.?!]){1,40},? but ${beginning}`,
  /^if (?:you (?:do not|don't|would not|wouldn't) mind|(?:it|that)(?:'s| is) (?:ok|okay|alright|possible)|possible), /i,
  /^(?:just )?out of (?:interest|curiosity),? /i,
  /^(?:can|could|would|will) you (?:please|pls|kindly) /i,
  /^(?:it's |it is )?(?:right, )?(?:me|back) again[,.!]+ /i,
  /^(?:i was |i am |i'm )?just (?:wondering|curious)[,:;.]+ (?=\p{L})/iu,
  /^(?:(?:ok|okay|alright|right|so),? )?(?:next|another|one more) (?:thing|question|one|task)[,:.!]+ /i,
  /^(?:hm+, )?let(?: me|'s|’s| us) (?:think|see)[,.!…]+ (?:oh,? )?(?:(?:yes|right|ok|okay)[:,.!]* )?/i,
  /^(?:i(?:'ve| have) been |i(?:'m| am) )(?:fighting|struggling|wrestling|stuck|battling)(?: (?:with|on|at))?(?: (?:this|it|that))?(?: (?:all|for) [^,.]{1,20})?,? (?:but|and|so) /i,
];
