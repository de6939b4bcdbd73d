import type { LogRun, SourceLine } from '#logs';
import { duration, moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { empty, fragment } from './pieces.ts';

/** Part of a log that a visitor chose to see. */
type LogChoice = {
  /** Number of runs to go back: 0 is the newest run, 1 the one before. */
  readonly back: number;
  readonly find: string;
  readonly hasTimes: boolean;
  /** True if the log updates itself. */
  readonly isFollowed: boolean;
};

type LogContent = {
  readonly runs: readonly LogRun[];
  readonly lines: readonly Pick<SourceLine, 'at' | 'text' | 'isHubs' | 'event' | 'instance'>[];
};

/** Maximum number of lines of a log on a page, the newest. */
export const shownLines = 1_000;

/** Reads the visitor's choice from a query. */
export function logChoiceOf(query: (name: string) => string): LogChoice {
  const back = query('back');
  return {
    back: /^\d{1,2}$/.test(back) ? Number(back) : 0,
    find: query('find').trim(),
    hasTimes: query('times') !== 'no',
    isFollowed: query('follow') !== 'no',
  };
}

const queryOf = ({ back, find, hasTimes, isFollowed }: LogChoice) => ({
  back: back || undefined,
  find,
  times: hasTimes ? undefined : 'no',
  follow: isFollowed ? undefined : 'no',
});

/** Shows the log of a server by runs, with the form to choose a run. The log of the newest run updates itself. */
export function logTab(name: string, choice: LogChoice, content: LogContent): Html {
  return html`${logForm(name, choice, content)}${logPart(name, choice, content)}`;
}

function logForm(name: string, choice: LogChoice, { runs }: LogContent): Html {
  const link = (text: string, change: Partial<LogChoice>, isOn: boolean) =>
    html`<a class="chip" id="log-${text.toLowerCase()}" aria-current="${isOn ? 'true' : 'false'}" href="${withQuery(paths.server(name), { tab: 'log', ...queryOf({ ...choice, ...change }) })}">${text}</a>`;
  const hidden = Object.entries({ times: queryOf(choice).times, follow: queryOf(choice).follow });
  return html`<form class="filter log" method="get" action="${paths.server(name)}" role="search" aria-label="Log"><input type="hidden" name="tab" value="log">${hidden.map(([key, value]) => value !== undefined && html`<input type="hidden" name="${key}" value="${value}">`)}
<p><label for="back">Run</label><select id="back" name="back">${runs.map((run, at) => html`<option value="${at}"${at === choice.back && html` selected`}>${runName(run, at)}</option>`)}${runs.length === 0 && html`<option value="0">this one</option>`}</select></p>
<p><label for="find">Find</label><input id="find" name="find" type="search" value="${choice.find}" autocomplete="off" spellcheck="false"></p>
<p class="buttons"><button id="show-log">Show</button>${link('Times', { hasTimes: !choice.hasTimes }, choice.hasTimes)}${choice.back === 0 && link('Follow', { isFollowed: !choice.isFollowed }, choice.isFollowed)}</p></form>`;
}

function runName({ run, beganAt, endedAt, how }: LogRun, at: number): string {
  const began = new Date(beganAt).toISOString().replace('T', ' ').slice(0, 19);
  const ended =
    endedAt === undefined
      ? ''
      : `, ${duration(Math.max(1, endedAt - beganAt))}${how === undefined || how === '' ? '' : `, ${how}`}`;
  return `${at === 0 ? 'newest' : at === 1 ? 'previous' : `run ${run}`}: ${began} UTC${ended}`;
}

/** Shows the lines of a log, which reload themselves while the log is followed. */
export function logPart(name: string, choice: LogChoice, { lines }: LogContent): Html {
  const wanted = choice.find.toLowerCase();
  const found =
    wanted === '' ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted));
  const shown =
    found.length > 0
      ? html`<pre id="log-text" tabindex="0" role="region" aria-label="Log" data-tail="yes">${found.map(line => lineOf(line, choice))}</pre>`
      : empty(wanted === '' ? 'Nothing is written yet.' : 'No line has this text.');
  if (choice.back > 0 || !choice.isFollowed) return html`<div id="log">${shown}</div>`;
  return fragment('log', withQuery(paths.part(name, 'log'), queryOf(choice)), shown);
}

function lineOf(
  { at, text, isHubs, event, instance }: LogContent['lines'][number],
  { hasTimes, find }: LogChoice,
): Html {
  const time = hasTimes && html`${moment(at)} `;
  const said =
    event === undefined ? marked(text, find) : `${event}${text === '' ? '' : `: ${text}`}`;
  const from = instance === undefined ? '' : `[${instance}] `;
  return isHubs === true || event !== undefined
    ? html`${time}<span class="note">${from}${said}</span>\n`
    : html`${time}${from}${said}\n`;
}

/** Returns the text with the matches of a search marked. */
function marked(text: string, find: string): Content {
  if (find === '') return text;
  const parts: Content[] = [];
  const [lower, wanted] = [text.toLowerCase(), find.toLowerCase()];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + wanted.length)}</mark>`);
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
