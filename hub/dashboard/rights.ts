import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';

/** Who looks at a page: the owner, somebody who may log in as the owner, or anybody of a hub that nobody administers. */
export type Rights = 'owner' | 'viewer' | 'closed';

/** In place of what only the owner may do or see: the way to the login. */
export const loginLink = (rights: Rights, text: string, id: string): Content =>
  rights === 'viewer' && html`<a class="button" id="${id}" href="${paths.login}">${text}</a>`;

/** In place of what only the owner is shown. */
export const ownersOnly = (rights: Rights, what: string): Html =>
  rights === 'viewer'
    ? html`<p class="note">${what} is shown to the owner of the hub: <a href="${paths.login}">log in</a>.</p>`
    : html`<p class="note">${what} is not shown: the administration of this hub is off.</p>`;
