import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';

/**
 * Rights of a visitor: `owner`; `viewer`, who may log in as the owner; `closed`, if the hub cannot be administered.
 */
export type Rights = 'owner' | 'viewer' | 'closed';

/** Link to the login, shown instead of actions that only the owner may do. */
export const loginLink = (rights: Rights, text: string, id: string): Content =>
  rights === 'viewer' && html`<a class="button" id="${id}" href="${paths.login}">${text}</a>`;

/** Note shown instead of content that only the owner may see. */
export const ownersOnly = (rights: Rights, what: string): Html =>
  rights === 'viewer'
    ? html`<p class="note">${what} is shown only to the owner of the hub: <a href="${paths.login}">log in</a>.</p>`
    : html`<p class="note">${what} is not shown: the administration of this hub is off.</p>`;
