import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { withoutIdioms } from '../../hub/enhance/idioms.ts';

const isHit = (a: string, b: string) =>
  [compareGuarded(a, b), compareGuarded(b, a)].every(({ verdict }) =>
    ['same', 'alike'].includes(verdict),
  );

describe('one request', () => {
  test.for([
    ['How far is Ghent from Bruges?', 'What is the distance between Ghent and Bruges?'],
    ['How tall is the tower?', "What's the height of the tower?"],
    ['How much does a litre of milk weigh?', 'What is the weight of a litre of milk?'],
    ['Which port does Redis use by default?', 'What is the default port of Redis?'],
    ['Which port is used by Redis by default?', 'What is the default port in Redis?'],
    ['What command lists all containers?', 'How do I list all containers?'],
    ['Is it safe to store tokens in cookies?', 'Can I safely store tokens in cookies?'],
    ['Can tokens be stored in cookies safely?', 'Is it safe to store tokens in cookies?'],
    ['Is it safe for dogs to eat grapes?', 'Can dogs eat grapes safely?'],
    ['If I have a fever, is it safe to run?', 'Is it safe to run if I have a fever?'],
    ["How do you say 'good morning' in Danish?", "Translate 'good morning' into Danish."],
    ['How do I get my server to send files?', 'How do I make my server send files?'],
    ['Do you have any tips for saving money?', 'Give me tips for saving money.'],
    ['Which index should be added?', 'What index should I add?'],
    [
      'My container exits right after it starts. Why?',
      'Explain why my container exits right after it starts.',
    ],
    ["I'm getting a 502 when I push, how do I fix it?", 'How do I fix a 502 when I push?'],
    ['Who is the painter of this picture?', 'Who painted this picture?'],
    ['When is the best time to visit Japan?', 'When should I visit Japan?'],
    ["What's new in Python 3.13?", 'What are the new features in Python 3.13?'],
    ['I need this text translated into German.', 'Translate this text into German.'],
    ['Do a review of my code for security issues.', 'Review my code for security issues.'],
    ['Change the name of the branch dev to main.', 'Rename the branch dev to main.'],
    ['Add a docstring to the function parse.', 'Write a docstring for the function parse.'],
    [
      'Write an email asking my boss for a day off.',
      'Write an email to my boss asking for a day off.',
    ],
    ['Write my landlord a polite email.', 'Write a polite email to my landlord.'],
    ['Rewrite this email so it sounds more formal.', 'Make this email more formal.'],
    ['Make this paragraph sound more formal.', 'Rewrite this paragraph in a more formal tone.'],
    ['Convert this code to use async/await.', 'Rewrite this code using async/await.'],
    ['Give me a one-paragraph summary of the report.', 'Summarize the report in one paragraph.'],
    [
      'Undo the last commit without losing the changes.',
      'Undo the last commit but keep the changes.',
    ],
    ['Sort the rows while preserving the ids.', 'Sort the rows and keep the ids.'],
    ['Show the ten most recent rows.', 'Show the latest 10 rows.'],
    ['Count the orders per customer.', 'Count the orders for each customer.'],
    ['Delete log files more than 14 days old.', 'Delete log files older than 14 days.'],
    ['Delete the images that are not used.', 'Delete the unused images.'],
    ['How do I vertically center a div?', 'How do I center a div vertically?'],
    ['How can I vertically center a div?', 'How do I center a div vertically?'],
    ['Wait half an hour.', 'Wait 30 minutes.'],
    ['A recipe that serves six', 'A recipe for 6 people'],
    ['What goes with crème fraîche?', 'What goes with creme fraiche?'],
    ['WHY IS MY BUILD SO SLOW?', 'Why is my build so slow?'],
    ['How does TCP differ from UDP?', 'What is the difference between UDP and TCP?'],
    ['Git command to undo the last commit', 'How do I undo the last commit in git?'],
    ['Meet me at 2 p.m. on Monday', 'Meet me at 14:00 on Monday'],
  ] as const)('%s / %s', ([a, b]) => assert.ok(isHit(a, b), compareGuarded(a, b).why));
});

describe('two requests', () => {
  test.for([
    ['How long is the Nile?', 'How wide is the Nile?'],
    ['Is it safe for cats to eat dog food?', 'Is it safe for dogs to eat cat food?'],
    ['Can cats eat tuna safely?', 'Can cats eat tuna?'],
    ['What port does nginx use by default?', 'What port does nginx use?'],
    ['Which command lists files?', 'Which command deletes files?'],
    ['Write an email asking Tom to call Ann.', 'Write an email asking Ann to call Tom.'],
    ['Write my boss an email about my mother.', 'Write my mother an email about my boss.'],
    ['Change the name of a.ts to b.ts', 'Change the name of b.ts to a.ts'],
    ['Delete the file without losing the backup.', 'Delete the backup but keep the file.'],
    ['Sort the list while keeping ties.', 'Sort the list without keeping ties.'],
    ['Write comments for this code.', 'Write code for these comments.'],
    ['Count users per country.', 'Count countries per user.'],
    ['Sort revenue by month.', 'Sort monthly revenue.'],
    ['Delete files more than 30 days old.', 'Delete files less than 30 days old.'],
    ['Delete the images that are not used.', 'Delete the images that are used.'],
    ['How do I safely remove a disk that failed?', 'How do I remove a disk that failed safely?'],
    ['Get the data out of the table.', 'Remove the data from the table.'],
    ['Explain recursion like I am five.', 'Explain recursion like I am ten.'],
    ['If it fails, explain why', 'If it fails, explain'],
    ['Can the cache be disabled?', 'Can the cache be enabled?'],
    ['Replace é by e', 'Replace e by é'],
    ['Write a SQL that sorts', 'Write a SQL query'],
    ['Find rows in a that are missing in b', 'Find rows in b that are missing in a'],
    ['Find users in orders that are missing', 'Find orders in users that are missing'],
    ['Show log files that are rotated', 'Show log rotated files'],
    ['Can I be fired for being sick?', 'Can I fire someone for being sick?'],
    [
      'Is it okay to store passwords in plain text?',
      'Is it possible to store passwords in plain text?',
    ],
    ['What is the best time to run 5 km?', 'When should I run 5 km?'],
    ['How do I get money to travel?', 'How do I make money to travel?'],
    ['How do I get a visa to work in Germany?', 'How do I make a visa work in Germany?'],
    ['Who is the director of the FBI?', 'Who directed the FBI?'],
    ['What should I call my boss?', 'Suggest a name for my boss'],
    ['Excel formula for compound interest', 'How do I compound interest in Excel?'],
    ['What is the solution to x + 2 = 5?', 'How do I fix x + 2 = 5?'],
    ['Godzilla vs Kong', 'What is the difference between Godzilla and Kong?'],
    ["What's new in Paris?", 'What are the new features in Paris?'],
    ['What can I use for pancakes?', 'What is a substitute for pancakes?'],
    ['Add unit tests to the CI pipeline', 'Write unit tests for the CI pipeline'],
    ['Make the site feel faster', 'Make the site faster'],
    ['Update the page using React', 'Convert the page to React'],
    ['I only want the names', 'I want the names'],
    ['Give me quite a few names', 'Give me a few names'],
    ['List version 2 of the files', 'List 2 of the files'],
    ['Filter the orders by month', 'Filter the orders each month'],
  ] as const)('%s / %s', ([a, b]) => assert.ok(!isHit(a, b)));
});

test.for([
  ['a quotation', 'translate "how tall is it" to French'],
  ['code', 'what does `get x out of y` print?'],
  ['a type', 'List is empty, why does it matter'],
  ['a long text', `how tall is ${'the tower '.repeat(120)}`],
])('%s stays as it is', ([, text]) => assert.equal(withoutIdioms(text ?? ''), text));

test('no text takes long', () => {
  const parts = [
    'how ',
    'a ',
    'the ',
    'that is ',
    'my x ',
    'to ',
    'by ',
    'é',
    "'",
    ', ',
    'why ',
    'write an email ',
  ];
  for (const part of parts) {
    const start = performance.now();
    withoutIdioms(part.repeat(Math.floor(1_000 / part.length)));
    assert.ok(performance.now() - start < 100, part);
  }
});
