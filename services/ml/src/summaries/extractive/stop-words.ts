/** Stop words per language, and detection of the language of a text by them. */

import { createWordReader } from './words.ts';

const lists: Record<string, string> = {
  en: "a about above after again against all also although am an and any are aren't as at be because been before being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else ever every few for from further had hadn't has hasn't have haven't having he he's her here hers herself him himself his how however i i'd i'll i'm i've if in into is isn't it it's its itself just let let's like many may me might more most much must my myself neither no nor not of off often on once one only or other others our ours ourselves out over own per rather said same say says shall she she's should shouldn't since so some such than that that's the their theirs them themselves then there there's these they they're they've this those though through thus to too under until up upon us very was wasn't we we're we've were weren't what when where whether which while who whom whose why will with within without won't would wouldn't yet you you're you've your yours yourself",
  de: 'aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da damit dann das dass daß dein dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch für gegen hab habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jeder jedes jetzt kann kein keine können man mein mehr mich mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so soll sondern über um und uns unser unter viel vom von vor während war waren was weil weiter wenn wer werden wie wieder will wir wird wo wurde wurden zu zum zur zwischen',
  fr: "à ai ainsi alors au aucun aussi autre aux avait avec avoir c'est ce ceci cela ces cet cette ceux chaque comme comment dans de depuis des deux donc du elle elles en encore entre est et été être eu eux fait il ils je l la le les leur leurs lui là ma mais me même mes moi mon ne ni nos notre nous on ont ou où par pas peu peut plus pour pourquoi qu quand que quel quelle qui sa sans se sera ses si son sont sous sur ta te tes toi ton tous tout toute très tu un une va vers vos votre vous y",
  es: 'a al algo ante antes aquí así aunque cada como con contra cual cuando de del desde donde dos e el ella ellas ellos en entre era eran es esa ese eso esta está estaba este esto estos fue fueron ha había hace han hasta hay la las le les lo los más me mi mientras mucho muy nada ni no nos nosotros o otra otro otros para pero poco por porque que qué quien se sea según ser si sí sido sin sobre son su sus también tan tanto tiene todo todos tras tu un una uno unos y ya yo',
  it: "a ad ai al alla alle allo anche ancora avere aveva c'è che chi ci come con contro cosa cui da dai dal dalla dalle degli dei del della delle dello di dopo dove e è ed era erano essere fa fra gli ha hanno ho i il in io la le lei li lo loro lui ma mi mia mio molto ne negli nei nel nella nelle no noi non nostro o ogni per perché più poi può prima quale quando quanto quella quello questa questi questo se sei si sia sono sta stata stato su sua sue sui sul sulla suo tra tu tutti tutto un una uno voi",
  pt: 'a à ao aos as às até cada com como contra da das de dela dele depois do dos e é ela elas ele eles em entre era essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu muito na não nas nem no nos nós num numa o os ou outra outro para pela pelas pelo pelos por porque quando que quem se sem ser será seu seus só sobre sua suas também te tem têm tinha todo todos tu um uma você',
  nl: 'aan af al alle alles als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor want waren was wat we werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou',
  sv: 'alla allt att av blev bli då de deras dem den denna det detta dig din du där efter ej eller en er ett från för ha hade han hans har henne hennes hon honom hur här i icke inom inte jag kan man med men mig min mot mycket ni nu när någon något och om oss på sedan sig sin ska skulle som så till under upp ut utan vad var vara vem vi vid är år över',
  da: 'af alle alt at blev bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end er et for fra ham han hans har havde hende her hos hun hvad hvis hvor i ikke ind jeg jo kan kunne man mange med meget men mig min mod ned noget nogle nu når og også om op os over på selv sig sin skal skulle som sådan til ud under var vi vil ville være været',
  ru: 'а без более бы был была были было быть в вам вас весь во вот все всё всех вы где да даже для до его ее её если есть еще ещё же за здесь и из или им их к как какой ко когда кто ли либо мне может мы на над надо нас не него нее нет ни них но ну о об однако он она они оно от по под при с со так также там те тем то того тоже той только том тот ту ты у уже чего чем что чтобы это этого этой этом этот я',
  pl: 'a aby ale bardzo bez bo być był była było były by ci co czy dla do gdy gdzie go i ich im ja jak jako je jego jej jest jeszcze jeśli już każdy która które którego której który których kto lub ma może mu na nad nie nich nim niż o od on ona one oni oraz pod po przed przez przy się są ta tak także tam te tego tej ten to tu tych tylko tym u w we więc wszystko z za ze że',
  tr: 'acaba ama ancak artık aslında bana bazı belki ben bile bir biri biz bu buna bunu çok çünkü da daha de değil diye en gibi hem hep her hiç için ile ise kadar ki kim mı mi mu nasıl ne neden o olan olarak oldu olduğu onlar onu sonra şey şu tüm var ve veya ya yani yok',
  ar: 'في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما لا لم لن أن إن كان كانت هو هي هم نحن أنا أنت كل بعض قد ثم أو و بين حتى إذا بعد قبل عند غير أي لكن كما منذ ليس وقد كما أنه أنها فيها فيه به بها له لها',
  zh: '的 了 是 在 和 也 有 就 不 我 他 她 们 这 那 一 个 与 及 或 而 被 把 对 从 到 为 之 其 于 以 都 很 上 下 中',
  ja: 'の に は を た が で て と し れ さ い も な る か ら り ま す こ',
  th: 'ที่ และ ของ ใน เป็น มี ได้ ไม่ ให้ จะ กับ ว่า ก็ มา ไป นี้ นั้น ผม ฉัน เขา เรา คือ แต่ หรือ จาก โดย ซึ่ง การ ความ อยู่ แล้ว ยัง ต้อง ด้วย เพื่อ ครับ ค่ะ',
};

const sets = new Map(Object.entries(lists).map(([language, list]) => [language, new Set(list.split(' '))]));
const none: ReadonlySet<string> = new Set();

/** Returns the stop words of a language. Empty for a language without a list. */
export const stopWordsOf = (language: string): ReadonlySet<string> => sets.get(language) ?? none;

/** The stop words of all languages, for a text in a language without a list. */
export const allStopWords: ReadonlySet<string> = new Set([...sets.values()].flatMap((list) => [...list]));

/** The least share of stop words for a text to count as written in a language. Prose has a third or more. */
const hitsMin = 0.12;
const sampleCharactersMax = 10_000;
const samplePassageMax = 1_000;

export const stopWordLanguages: readonly string[] = Object.keys(lists);

/** Returns the primary language of a tag such as `pt-BR`. */
export const primaryOf = (tag: string): string => tag.toLowerCase().split(/[-_]/, 1)[0] ?? '';

/**
 * Returns the primary language of the tag. Without a tag, the language whose stop words are the most frequent, or
 * `und`.
 */
export function languageOf(documents: readonly (readonly string[])[], tag: string | undefined): string {
  if (tag !== undefined) return primaryOf(tag);
  let sample = '';
  for (const passage of documents.flat()) {
    if (sample.length > sampleCharactersMax) break;
    sample += ` ${passage.slice(0, samplePassageMax)}`;
  }
  return detectLanguage(createWordReader().read(sample));
}

function detectLanguage(words: readonly string[]): string {
  let best = 'und';
  let most = Math.max(1, hitsMin * words.length);
  for (const [language, list] of sets) {
    let hits = 0;
    for (const word of words) if (list.has(word)) hits += 1;
    if (hits > most) {
      most = hits;
      best = language;
    }
  }
  return best;
}
