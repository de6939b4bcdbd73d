import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { counted } from './format.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { alert, facts, failed, heading } from './pieces.ts';

type Needs = {
  readonly hub: Pick<PageNeeds['hub'], 'authorization'>;
  readonly router: { readonly policy: { readonly rules: () => readonly unknown[] } };
};

type Request = ReturnType<NonNullable<PageNeeds['hub']['authorization']>['pending']>;

/**
 * Creates the page on which the owner allows a program to use the hub (decisions/0042). Both routes need a login to the
 * dashboard as the owner. The form is only accepted from the hub's own pages, and its id works once.
 */
export function authorizePages({ hub: { authorization }, router }: Needs) {
  /** Returns the question to the owner, with the reason why it is asked again. */
  function question(id: string, request: Request, name: string, why?: string): DashboardAnswer {
    const { client, redirect } = request;
    const program = client.name === '' ? 'A program without a name' : client.name;
    const rules = router.policy.rules().length;
    const main = html`${heading(`Allow ${program}?`)}
<p class="lead">A program asks to use this hub. Allow it only if you have just started its login yourself.</p>
${facts([
  [
    'Calls itself',
    html`<strong>${program}</strong> <span class="note">its own claim, which the hub cannot check</span>`,
  ],
  ['Gets the answer at', html`<code>${redirect}</code>`],
  [
    'May',
    rules === 0
      ? 'list and call everything that this hub offers'
      : html`list and call what the <a href="${paths.access}">policy</a> (${counted(rules, 'rule')}) lets a client of this name use`,
  ],
  ['May not', 'administer the hub'],
  ['Until', 'its token expires in 90 days, or you revoke it'],
])}
${why !== undefined && alert(why)}
<form method="post" action="${paths.authorize}">
<input type="hidden" name="id" value="${id}">
<p><label for="name">Name in the hub</label><input id="name" name="name" value="${name}" maxlength="32" autocomplete="off" spellcheck="false" required></p>
<div class="actions"><button class="primary" id="allow" name="decision" value="allow">Allow</button> <button id="deny" name="decision" value="deny" formnovalidate>Deny</button></div>
</form>`;
    return { status: why === undefined ? 200 : 409, page: { title: `Allow ${program}?`, main } };
  }

  return {
    async askForProgram(request) {
      if (authorization?.isOffered() !== true) return notOffered;
      const read = authorization.read(new URLSearchParams(request.url.split('?')[1]));
      if (read.kind === 'invalid') return failed(400, 'Invalid login', read.message);
      if (read.kind === 'refused')
        return back(
          'Invalid login',
          read.redirect,
          `The program asks for a login wrongly: ${read.message}.`,
        );
      // Ask in between if another page led here: it could place a button of its own under the pointer (double-click
      // jacking).
      if (isLedHere(request)) return interlude(request.url);
      const id = authorization.ask(read.request);
      const why = authorization.isAnswered(read.request) ? answeredAlready : undefined;
      return question(id, read.request, authorization.suggestName(read.request), why);
    },
    async decideOnProgram({ form, principal }) {
      if (authorization?.isOffered() !== true) return notOffered;
      const id = form.get('id') ?? '';
      const request = authorization.pending(id);
      const by = principal().name;
      if (form.get('decision') !== 'allow')
        return back('Denied', authorization.deny(id, by), 'The program was not let in.');
      const name = (form.get('name') ?? '').trim();
      const why = authorization.whyNot(request, name);
      if (why !== undefined) return question(id, request, name, `Choose another name: ${why}.`);
      const redirect = authorization.allow(id, name, by);
      return back('Allowed', redirect, html`The program is now the client <code>${name}</code>.`);
    },
  } satisfies Handlers;
}

/** True if a page of another origin led the browser here, rather than a program that opened it. */
function isLedHere({ headers }: DashboardRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'same-site' || site === 'cross-site';
}

function interlude(url: string): DashboardAnswer {
  const main = html`${heading('A page led you here')}
<p>It wants a program to be let in to this hub. If you have not started that, close this page.</p>
<p><a id="go-on" href="${url}">Show the request</a></p>`;
  return { page: { title: 'A page led you here', main } };
}

/**
 * Returns a page that leads back to the program. It is not an HTTP redirect, because the form's Content-Security-Policy
 * does not allow one to another origin.
 */
function back(title: string, to: string, text: string | Html): DashboardAnswer {
  const main = html`${heading(title)}
<p>${text} <a id="back" href="${to}">Back to the program</a></p>`;
  return { page: { title, main, leadsTo: to } };
}

const answeredAlready =
  'You have answered this request already. If the program still waits, log in again in the program.';

const notOffered = failed(
  404,
  'Not found',
  'Programs log in to this hub only if calls need a token: see "tokens" in the config.',
);
