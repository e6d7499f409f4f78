import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { createClassifier, useConsole } from '../support/browser/console.ts';
import { api } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('examples in the console (needs Chromium)', () => {
  const { shared, goTo, button, act } = useConsole();
  const classesOf = async (id: string) => {
    const { classes } = await api.ok(api.get(`/v1/classifiers/${id}`));
    return Object.fromEntries(classes.map((one: any) => [one.label, one.observations]));
  };

  it('pages through examples, corrects one, deletes one', async () => {
    const { page } = shared;
    const examples = Array.from({ length: 120 }, (_, i) => ({
      label: 'late',
      context: `parcel ${i + 1} is late`,
    }));
    const id = await createClassifier(examples);
    await goTo('classifier', id, 'examples');
    await page.getByText('1 to 50 of 120').waitFor();
    await button('Next').click();
    await page.getByText('51 to 100 of 120').waitFor();
    await button('Next').click();
    await page.getByText('101 to 120 of 120').waitFor();
    await page.getByText('parcel 120 is late').waitFor();
    expect(await button('Next').isDisabled()).toBe(true);
    await button('Back').click();
    await page.getByText('parcel 51 is late').waitFor();

    await act('Actions for example 51', 'Correct');
    await page.getByLabel('Label', { exact: true }).fill('paid');
    await page.getByLabel('Text', { exact: true }).fill('I paid twice');
    // What another program trains meanwhile is no reason to reject the correction.
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { label: 'late', context: 'another' }));
    await button('Correct').click();
    await page
      .locator('tr', { hasText: 'I paid twice' })
      .locator('td', { hasText: 'paid' })
      .first()
      .waitFor();
    await page.getByText('51 to 100 of 121').waitFor();
    expect(await classesOf(id)).toEqual({ late: 120, paid: 1 });

    await act('Actions for example 52', 'Delete');
    await button('Delete example').click();
    await page.locator('td', { hasText: 'parcel 52 is late' }).waitFor({ state: 'detached' });
    expect(await classesOf(id)).toEqual({ late: 119, paid: 1 });
  });

  it('shows the examples of one label', async () => {
    const { page } = shared;
    const examples = Array.from({ length: 130 }, (_, i) => ({
      label: i % 2 === 0 ? 'late' : 'paid',
      context: `message ${i + 1}`,
    }));
    const id = await createClassifier(examples);
    await goTo('classifier', id, 'examples');
    await page.getByText('1 to 50 of 130').waitFor();
    await page.getByLabel('Label', { exact: true }).selectOption('paid');
    await page.getByText('1 to 50 of 65').waitFor();
    await page.locator('td', { hasText: 'message 2' }).first().waitFor();
    await button('Next').click();
    await page.getByText('51 to 65 of 65').waitFor();
    expect(await button('Next').isDisabled()).toBe(true);
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download NDJSON').click()]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).label))).toEqual(new Set(['paid']));
    await act('Actions for example 51', 'Correct');
    await page.locator('dialog').getByLabel('Label', { exact: true }).fill('late');
    await button('Correct').click();
    await page.getByText('51 to 64 of 64').waitFor();
    expect(await classesOf(id)).toEqual({ late: 66, paid: 64 });
  });

  it('changes no example that someone else changed, and shows what it is now', async () => {
    const { page } = shared;
    const id = await createClassifier([{ label: 'late', context: 'where is it' }]);
    await goTo('classifier', id, 'examples');
    await act('Actions for example 1', 'Correct');
    await page.getByLabel('Label', { exact: true }).fill('mine');
    const path = `/v1/classifiers/${id}/examples`;
    const [{ exampleId }] = await api.ok(api.get(path));
    await api.ok(api.put(`${path}/${exampleId}`, { label: 'theirs' }));
    await button('Correct').click();
    await page.locator('dialog .problem', { hasText: 'VERSION_MISMATCH (412)' }).waitFor();
    await button('Cancel').click();
    await page.locator('td', { hasText: 'theirs' }).waitFor();
    expect((await api.ok(api.get(path)))[0].label).toBe('theirs');
  });

  it('hands all examples over as files that can be trained with', async () => {
    const { page } = shared;
    const examples = Array.from({ length: 60 }, (_, i) => ({ label: 'a', context: `"text", ${i}` }));
    const id = await createClassifier(examples);
    await goTo('classifier', id, 'examples');
    for (const [name, mediaType] of [
      ['Download CSV', 'text/csv'],
      ['Download NDJSON', 'application/x-ndjson'],
    ] as const) {
      // A notice stays for seconds, so the test waits for it first.
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByText(/^Downloaded /).waitFor(),
        button(name).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(name.endsWith('CSV') ? /\.csv$/ : /\.ndjson$/);
      const raw = await readFile(await download.path(), 'utf8');
      const other = await createClassifier();
      const trained = await api.ok(
        api.call('POST', `/v1/classifiers/${other}/train`, { raw, headers: { 'content-type': mediaType } }),
      );
      expect(trained.trained).toBe(60);
    }
  });

  it('asks for the labels of the least certain texts of a file, with a key for each label', async () => {
    const { page } = shared;
    const id = await createClassifier([
      { label: 'late', context: 'where is my parcel' },
      { label: 'thanks', context: 'great service' },
    ]);
    await goTo('classifier', id, 'label-next');
    const texts = [
      'the parcel was great',
      'where is my parcel now',
      'what great service',
      'an open question',
    ];
    await page.getByLabel('Paste', { exact: true }).fill(texts.join('\n'));
    await button('Label its texts').click();
    await page.getByText('Text 1 of 4, 0 labels learned').waitFor();
    const [asked] = await page.locator('.labelled-text').allTextContents();
    const first = await page.locator('.corrections button').first().textContent();
    const label = first?.includes('late') ? 'late' : 'thanks';
    await page.keyboard.press('1');
    await page.getByText('Text 2 of 4, 1 label learned').waitFor();
    expect(await classesOf(id)).toEqual({ late: 1, thanks: 1, [label]: 2 });
    await page.keyboard.press('0');
    await page.getByText('Text 3 of 4').waitFor();
    await page.getByLabel('Another label').fill('other 1');
    await page.keyboard.press('Enter');
    await page.getByText('Text 4 of 4, 2 labels learned').waitFor();
    await page.keyboard.press('2');
    await page.getByText('Learned 3 labels.').waitFor();
    await button('Next ten').click();
    await page.getByText('Every text has been labelled or skipped.').waitFor();
    const { body } = await api.get(`/v1/classifiers/${id}/examples`);
    expect(body.map(({ context }: { context: string }) => context)).toContain(asked);
    expect(body).toHaveLength(5);
    await button('Other texts').click();
    await page.getByLabel('Paste', { exact: true }).waitFor();
  });
});
