import type { Changes } from './changes.ts';
import type { InstallForms } from './install-forms.ts';
import type { DashboardNeeds } from './needs.ts';
import type { Answering } from './request.ts';
import type { ServerViews } from './server-views.ts';
import type { UsageViews } from './usage-views.ts';

/** What all pages and actions are made with. */
export type Given = DashboardNeeds &
  Answering & {
    readonly changes: Changes;
    readonly usage: UsageViews;
    readonly views: ServerViews;
    /** Undefined where servers are installed in the file only. */
    readonly forms: InstallForms | undefined;
  };
