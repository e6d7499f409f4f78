/** The search of the site: it loads its index with the first letter, and nothing from elsewhere. */

import MiniSearch from 'minisearch';

const shownMax = 12;
const input = document.getElementById('search');
const found = document.getElementById('found');
let loading;

async function load() {
  const answer = await fetch(new URL('search-index.json', import.meta.url));
  return MiniSearch.loadJSON(await answer.text(), {
    fields: ['page', 'title', 'text'],
    storeFields: ['page', 'title'],
  });
}

input.form.addEventListener('submit', (event) => event.preventDefault());
input.addEventListener('input', async () => {
  loading ??= load();
  const index = await loading;
  const options = { prefix: true, fuzzy: 0.1, combineWith: 'AND', boost: { title: 4, page: 2 } };
  const hits = input.value.trim() === '' ? [] : index.search(input.value, options).slice(0, shownMax);
  found.replaceChildren(
    ...hits.map(({ id, page, title }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = id;
      link.textContent = page === title ? page : `${page}: ${title}`;
      item.append(link);
      return item;
    }),
  );
});
