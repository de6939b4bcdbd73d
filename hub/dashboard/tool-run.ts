import { isObject } from '#core';
import { outcomeBadge } from './activity.ts';
import { ago, duration, percent } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { badge, copyable, fragment, notice, payload } from './pieces.ts';
import { type GivenValues, argumentsOf, jsonName } from './tool-arguments.ts';
import { fieldsOf } from './tool-fields.ts';
import { formFields } from './tool-form.ts';
import { resultContent } from './tool-result.ts';
import {
  type QuestionAnswer,
  type RunProgress,
  type RunQuestion,
  type ToolRun,
  unknownRun,
} from './tool-runs.ts';

/** Name of the form field with the number of the server's question. */
const questionName = 'question';
/** Maximum length of a shown text, in characters. */
const maxShown = 200_000;

type RunView = {
  readonly redact: (text: string) => string;
  /** URL of the hub for clients: `http://localhost:9090/mcp`. */
  readonly endpoint: string;
  readonly needsToken: boolean;
  readonly now: number;
};

/** Shows a call on its page: its progress, or its result. Reloads itself until the call has ended. */
export function runPart(run: ToolRun, view: RunView): Html {
  const from = withQuery(paths.part(run.server, 'run'), { run: run.id });
  if (run.answer === undefined) return fragment('run', from, runningCall(run, view));
  return html`<div id="run">${finishedCall(run, view)}</div>`;
}

/** Takes the place of a call that is no longer known. */
export const lostRun: Html = html`<div id="run">${notice('bad', unknownRun)}</div>`;

function runningCall({ id, question, progress, startedAt }: ToolRun, { redact, now }: RunView) {
  const cancel = paths.action('run-cancel', id);
  return html`<div class="card"><div class="heading">${badge('busy', question ? 'asks you' : 'running')}<span class="note">${ago(startedAt, now)}</span>
<div class="actions"><form method="post" action="${cancel}" hx-post="${cancel}" hx-target="#run" hx-swap="outerHTML"><button id="cancel">Cancel</button></form></div></div>
${progress && progressPart(progress, redact)}${question && questionForm(id, question, redact)}</div>`;
}

function progressPart({ message, progress, total }: RunProgress, redact: RunView['redact']) {
  const share = total === undefined || total <= 0 ? undefined : Math.min(1, progress / total);
  const bar =
    share === undefined
      ? html`<progress aria-label="Progress"></progress>`
      : html`<progress aria-label="Progress" value="${share}" max="1">${percent(share)}</progress>`;
  return html`<p class="progress">${bar}<span class="note">${message === undefined ? (share === undefined ? `step ${progress}` : percent(share)) : redact(message)}</span></p>`;
}

function questionForm(
  id: string,
  { number, message, schema, url }: RunQuestion,
  redact: RunView['redact'],
) {
  const path = paths.action('run-answer', id);
  const isWeb = url !== undefined && /^https?:\/\//i.test(url);
  // People know the titles of a question, not the names of its fields.
  const fields = fieldsOf(schema)?.map(field => ({ ...field, label: field.title ?? field.name }));
  const inside =
    url !== undefined
      ? isWeb
        ? html`<p>Open <a href="${url}" target="_blank" rel="noreferrer">${url}</a></p>`
        : html`<p><code>${url}</code></p>`
      : fields
        ? formFields(fields, new Map(), path, 'answer-')
        : html`<p><label for="answer-${jsonName}">Answer as JSON</label><textarea id="answer-${jsonName}" name="${jsonName}">{}</textarea></p>`;
  // Preserve the form during updates, which would otherwise empty it while it is filled in.
  return html`<form class="question" id="question-${number}-${id}" hx-preserve="true" method="post" action="${path}" hx-post="${path}" hx-target="#run" hx-swap="outerHTML"><input type="hidden" name="${questionName}" value="${number}"><p><strong>${redact(message)}</strong></p>${inside}
<p class="actions"><button class="primary" name="action" value="accept" id="accept">${url === undefined ? 'Send' : 'Done'}</button><button name="action" value="decline" formnovalidate id="decline">Decline</button></p></form>`;
}

/**
 * Reads the answer to a question from a form. Undefined if the call now asks another question. Throws
 * HUB_REQUEST_INVALID.
 */
export function answerForm({ question }: ToolRun, given: GivenValues): QuestionAnswer | undefined {
  // A second click, or an outdated page, must not answer the next question.
  if (!question || given.get(questionName) !== String(question.number)) return undefined;
  const { number, url, schema } = question;
  if (given.get('action') !== 'accept') return { number, action: 'decline' };
  if (url !== undefined) return { number, action: 'accept' };
  return { number, action: 'accept', content: argumentsOf(fieldsOf(schema), given) };
}

function finishedCall(run: ToolRun, view: RunView): Html {
  const { answer, tookMs = 0 } = run;
  if (!answer)
    return html`<div class="card"><p>${badge('warn', 'cancelled')}</p>${againPart(run, view)}</div>`;
  const { result, error } = answer;
  const show = (text: string) => {
    const safe = view.redact(text);
    return safe.length > maxShown ? `${safe.slice(0, maxShown)}\n… and more` : safe;
  };
  const isFailed = isObject(result) && result['isError'] === true;
  const outcome = error !== undefined ? codeOf(error) : isFailed ? 'tool_error' : 'ok';
  const content = isObject(error)
    ? payload(show(String(error['message'])), 'Text')
    : resultContent(result, show);
  return html`<div class="card"><p>${outcomeBadge(outcome)} <span class="note">in ${duration(tookMs)}</span></p>
${content}
<details><summary>Complete response</summary>${payload(show(withoutMedia(error ?? result)), 'Complete response')}</details>
${againPart(run, view)}</div>`;
}

/** Formats the response as JSON, without the bytes of images and sounds. */
const withoutMedia = (answer: unknown): string =>
  JSON.stringify(
    answer,
    (key, value: unknown) =>
      (key === 'data' || key === 'blob') && typeof value === 'string' && value.length > 200
        ? `${value.slice(0, 60)}… (${value.length} characters)`
        : value,
    2,
  ) ?? '';

function codeOf(error: unknown): string {
  const data = isObject(error) ? error['data'] : undefined;
  const code = isObject(data) ? data['code'] : undefined;
  return typeof code === 'string' ? code : 'error';
}

/** Shows how to repeat a call: a button, and the call as a curl or `agenthub` command. */
function againPart(run: ToolRun, view: RunView): Content {
  const path = paths.tool(run.server, run.tool);
  const args = JSON.stringify(run.args);
  return html`<div class="actions"><form method="post" action="${path}" hx-post="${path}" hx-target="#result" hx-sync="this:drop"><input type="hidden" name="${jsonName}" value="${args}"><button id="again">Run again</button></form></div>
<details><summary>Copy as curl or command</summary>${copyable('curl', curlOf(run, view))}${copyable('command', commandOf(run))}</details>`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function curlOf({ server, tool, args }: ToolRun, { endpoint, needsToken }: RunView): string {
  const body = quoted(JSON.stringify({ name: tool, arguments: args }));
  const token = needsToken ? ' -H "authorization: Bearer $ROUTER_TOKEN"' : '';
  return `curl -s ${endpoint}/${encodeURIComponent(server)}/tools/call -H 'content-type: application/json'${token} -d ${body}`;
}

const commandOf = ({ server, tool, args }: ToolRun): string =>
  `npx agenthub call ${quoted(tool)} --server ${server} ${quoted(JSON.stringify(args))}`;
