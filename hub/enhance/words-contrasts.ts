import { wordsOf } from './words.ts';

/** One group of contrasting words per line, opposites included; `=` joins words with the same meaning. */
const groups = `
add=adds=added=adding remove=removes=removed=removing=delete=deletes=deleted=deleting=drop
enable=enables=enabled=enabling disable=disables=disabled=disabling
increase=increases=raise=increasing=increased decrease=decreases=lower=reduce=decreasing=decreased
open=opens=opened close=closes=closed
show=shows=display=reveal hide=hides=hidden=conceal
start=starts=started stop=stops=stopped
encrypt=encrypts=encrypted=encryption decrypt=decrypts=decrypted=decryption
encode=encodes=encoded=encoding decode=decodes=decoded=decoding
serialize=serialise=serialization deserialize=deserialise=deserialization
compress=zip decompress=unzip=extract
lock=locks=locked unlock=unlocks=unlocked
minimize=minimise maximize=maximise
minimum=min=lowest=smallest maximum=max=highest=biggest=largest
allow=permit forbid=deny=block=prohibit
accept=accepts=accepted reject=rejects=rejected
include=includes=including exclude=excludes=excluding
upload=uploads=uploading download=downloads=downloading
import=imports export=exports
install=installs uninstall=uninstalls
push=pushes pull=pulls commit=commits
mount=mounts unmount
subscribe=subscribes unsubscribe
attach detach
login=logged-in logout=logged-out
undo redo
expand collapse
sync=synchronous=synchronously async=asynchronous=asynchronously
ascending=asc descending=desc
left right
up down
top bottom
front back
inside outside
internal external
input=inputs output=outputs
request=requests response=responses
source destination=target
sender=sends receiver=receives
client=clients server=servers
parent child
producer consumer
frontend=front-end backend=back-end
inner outer left right full cross
before after
first last second third
next previous
until while
starts=start=begins ends=end=finishes
today tomorrow yesterday
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
hourly daily weekly monthly yearly
day=days week=weeks month=months year=years hour=hours minute=minutes second=seconds
public private protected
local remote
optional required=mandatory
static dynamic
mutable immutable
shallow deep
greedy lazy
strict loose
odd even
positive negative
true false
same different
old new
oldest newest
short=brief=shorter long=detailed=longer
small=smaller big=large=bigger=larger
fast=faster=quick=quicker=speed slow=slower
more less=fewer
many few
high=higher low=lower
safe unsafe
simple=simpler complex=complicated
valid invalid
passes=pass=passing=succeeds fails=fail=failing
advantages=advantage=pros=benefits disadvantages=disadvantage=cons=drawbacks
success=successful failure=unsuccessful
light dark
horizontal=horizontally vertical=vertically
row=rows column=columns
width height depth
mean=average median mode
sum product difference
parser=parse=parsing lexer=tokenizer=lexing compiler=compile interpreter linter=lint formatter
tab=tabs space=spaces
stack=stacks queue=queues heap deque
list=lists array=arrays set map tuple tree=trees graph=graphs
class=classes interface=interfaces struct enum function=functions component=components hook=hooks
unit integration e2e=end-to-end
merge=merging rebase=rebasing squash cherry-pick
bar pie line scatter
get post put patch delete
time-complexity space-complexity
time space memory
authentication=authenticate authorization=authorize
camelcase snake_case kebab-case pascalcase
process=processes thread=threads coroutine=coroutines
mutex semaphore
tcp udp
http https
test=tests documentation=docs
unit-tests integration-tests
error=errors warning=warnings
cat dog
breadth-first=bfs depth-first=dfs
quicksort mergesort heapsort bubblesort
recursion=recursive=recursively iteration=iterative=iteratively
stable beta nightly
major minor
development staging production
question answer
encoder decoder
mit ohne
vor nach
öffentlichen=öffentliche=öffentlicher privaten=private=privater
erlaube=erlauben verbiete=verbieten
erhöhe verringere
öffne schließe
starte stoppe
aktiviere deaktiviere
avant après
avec sans
ajoute supprime
con sin
antes después
añade elimina
`;

/** For each group, the meaning of its words. */
export const contrasts: readonly ReadonlyMap<string, string>[] = groups
  .trim()
  .split('\n')
  .map(
    line =>
      new Map(
        wordsOf(line).flatMap(member => {
          const spellings = member.split('=');
          return spellings.map(word => [word, spellings[0] ?? word] as const);
        }),
      ),
  );

/** One set of synonyms per line. */
const sets = `
fix repair correct
write create make generate build produce
explain describe
delete remove drop
show list display print output give
improve optimize optimise enhance
convert transform change turn
find locate search
check verify validate test
use utilize apply employ
kill end terminate
organize group arrange
clean tidy
rewrite rephrase reword
configure setup
start begin launch
big large
fast quick
bug mistake problem issue
do can should
warum weshalb wieso
`;

/** The number of its set for each word. */
export const synonyms: ReadonlyMap<string, number> = new Map(
  sets
    .trim()
    .split('\n')
    .flatMap((line, set) => wordsOf(line).map(word => [word, set] as const)),
);
