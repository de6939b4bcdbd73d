import { type Html, html } from './html.ts';

/** A setting beyond the default sandbox that the visitor has to confirm. */
export type AskedSetting = {
  readonly name: string;
  readonly message: string;
  readonly isAgreed: boolean;
};

/**
 * Returns checkboxes for the settings that an install asks to confirm. The browser sends the form only if all are
 * checked.
 */
export const confirmation = (asked: readonly AskedSetting[]): Html =>
  html`<fieldset class="notice bad" id="confirm"><legend>This server needs more than the default sandbox</legend>
${asked.map(({ name, message, isAgreed }) => html`<p><label><input type="checkbox" name="confirm" value="${name}" required${isAgreed && html` checked`}> ${message} <code>${name}</code></label></p>`)}
<p class="note">Nothing was installed yet. Check what you allow and install it, or change the form.</p></fieldset>`;
