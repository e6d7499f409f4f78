/**
 * Words that a full stop may follow without ending a sentence, in lower case and without the full stop. They come from
 * the sentence break suppressions of CLDR 46 and from the lists of abbreviations in the orthographies of the languages
 * that CLDR has none for (Duden, RAE, Svenska skrivregler, Dansk Sprognævn, Kielitoimisto, PWN, ÚJČ, AkH, TDK).
 */

export interface Abbreviations {
  /** A name or a noun follows: titles, streets, "for example". They never end a sentence. */
  inside: ReadonlySet<string>;
  /** These stand before a number, and end a sentence before anything else. */
  beforeNumber: ReadonlySet<string>;
  /** Lists end with these. A capital letter after them begins a sentence. */
  ending: ReadonlySet<string>;
  /** These are part of a name, or stand at the end of a sentence. Only a common word after them begins a sentence. */
  either: ReadonlySet<string>;
}

interface Lists {
  inside?: string;
  beforeNumber?: string;
  ending?: string;
  either?: string;
}

const months = 'jan feb febr mar apr jun jul aug sep sept oct okt nov dec dez';

const common: Lists = {
  inside: 'dr drs prof st mr mrs ms vs cf dipl vol univ tel max min approx ca i.e e.g m.a.w',
  beforeNumber: `p pp s nr n n° nº n.º no art fig figs eq eqs cap kap § vol vols op bd ${months}`,
  ending: 'etc',
  either: 'inc ltd co corp bros jr sr ph.d b.a m.a m.d al',
};

const norwegian: Lists = {
  inside: 'f.eks bl.a dvs hr fr ang evt inkl ekskl pga iflg ca',
  beforeNumber: 'kl mai juni juli side fig tlf',
  ending: 'osv m.m m.fl o.l',
  either: 'f.kr e.kr',
};

const byLanguage: Record<string, Lists> = {
  en: {
    inside:
      'messrs rev hon gen col lt sgt capt maj cmdr adm sen rep gov pres supt mt ft viz est dept ex exec asst assoc ' +
      'prop incl excl avg var resp spp subsp trans ed eds mgr st',
    beforeNumber:
      'nos sec secs ch chap chaps ref refs ext para paras rm apt mon tue tues wed thu thur thurs fri sat sun',
    ending: 'a.m p.m',
    either: 'a.d b.c u.s u.k u.n e.u d.c u.s.a dist mfg ave blvd rd sq',
  },
  de: {
    inside:
      'z.b d.h u.a o.ä u.ä i.d.r i.a bzw vgl evtl ggf inkl exkl zzgl abzgl einschl hr hrn fr frl ing abs hrsg mio mrd tsd ' +
      'std str sog geb gest med phil rer nat jur theol kath ev ehem jew entspr erw gesch kgl led mtl näml röm schweiz ' +
      'österr südd tägl verh allg amtl eigtl gebr hl hptst kfm ausg abt bibl prot reg verf konv z.zt bsp',
    beforeNumber: 'jg anm aufl abb tab rn ziff std mo di mi do fr sa so',
    ending: 'usw u.s.w ff f usf dgl',
    either: 'jh jhd n.chr v.chr e.v a.m a.d',
  },
  fr: {
    inside:
      'm mm mme mmes mlle mlles mgr me env p.ex av boul bd éd dir coll réf adr anc app cf équiv ill gouv hôp dép chap',
    beforeNumber: 'janv févr fév avr juil déc lun mar mer jeu ven sam dim vers chap tél no nos réf ann',
    either: 'j.-c s.a s.a.r.l',
  },
  es: {
    inside:
      'ee sra sras srta srtas sres ud uds vd p.ej ej núms págs dra dras dña da d avda av cra lic licdo licda excmo excma ilmo ilma ' +
      'gral pdte prov admón depto dpto dptos aprox ctra cía mons arq ing rvdo sta sto vda párr párrf fund hnos c',
    beforeNumber: 'núm pág párrf párr ene abr ago dic mié mar jue vie sáb dom lun ext vid mín',
    either: 'ee.uu s.a ltda a.c d.c a.m p.m',
  },
  pt: {
    inside:
      'sra sras srs dra dras profa p.ex ex exmo exma ilmo ilma av eng r des dir aprox apt end pe ' +
      'cel próx esp ref séc cia d res sta sto',
    beforeNumber: 'pág págs fev abr mai ago set out séc doc',
    either: 'ltda s.a a.c d.c',
  },
  it: {
    inside:
      'sig sigg sig.ra sig.na dott dott.ssa prof.ssa ing avv geom arch rag on mons p.es es cfr n.b ecc.mo ca psicol dir amm ' +
      'div mod prov spett egr gent sez tav ver v',
    beforeNumber: 'pag pagg lun mar mer gio ven sab dom gen mag giu lug set ott dic tab liv sez',
    ending: 'ecc eccetera',
    either: 's.p.a s.r.l a.c d.c',
  },
  ca: {
    inside: 'sra srs dra av avda p.ex aprox gral',
    beforeNumber: 'núm pàg pàgs gen febr abr ag set des tel',
    either: 's.a s.l a.c d.c',
  },
  ro: {
    inside: 'dl dna d-na d-l dvs ing str bd bl sc ap jud mun ex aprox lt gen col acad',
    beforeNumber: 'pag ian mai iun iul noi et ap bl',
    either: 'î.hr d.hr s.a',
  },
  nl: {
    inside: 'dhr mevr mw mej ir o.a bijv bv resp d.w.z m.n i.p.v t.a.v m.b.v ing aanw vnw ned',
    beforeNumber: 'blz mrt mei afb hfst par',
    ending: 'enz e.d',
    either: 'n.chr v.chr b.v n.v',
  },
  sv: {
    inside: 't.ex bl.a dvs s.k fr.o.m t.o.m f.d resp ev ang inkl exkl prof',
    beforeNumber: 'kl sid maj juni juli fig tab avd',
    ending: 'osv m.m m.fl o.s.v',
    either: 'f.kr e.kr',
  },
  da: {
    inside: 'f.eks bl.a dvs hr fr skt sct ang evt inkl ekskl vha pga iflg ca',
    beforeNumber: 'kl maj juni juli side sal fig tlf',
    ending: 'osv m.m m.fl o.l',
    either: 'f.kr e.kr',
  },
  nb: norwegian,
  nn: norwegian,
  no: norwegian,
  fi: {
    inside: 'esim mm ts ns nk tri n ks vrt eli ym',
    beforeNumber: 'klo v s puh kpl',
    ending: 'jne yms',
    either: 'eaa jaa eka',
  },
  cs: {
    inside: 'ing mudr judr mgr bc phdr rndr ul nám tř např tzv tj popř resp cca pan p sv kupř vl',
    beforeNumber: 'č str r roč čís hod obr',
    ending: 'atd apod aj',
    either: 's.r.o a.s',
  },
  sk: {
    inside: 'ing mudr judr mgr bc phdr ul nám napr tzv tj príp resp cca p sv',
    beforeNumber: 'č str r roč obr',
    ending: 'atď apod',
    either: 's.r.o a.s',
  },
  pl: {
    inside: 'inż mgr ul al pl np tzn tzw tj m.in ks św im dr hab ok woj pw bałt gen',
    beforeNumber: 'godz str s rozdz r w ust pkt poz',
    ending: 'itd itp',
    either: 'n.e p.n.e s.a',
  },
  hr: {
    inside: 'ul npr tj tzv mr sv gđa gosp ing prof',
    beforeNumber: 'br str čl tel',
    ending: 'itd i.sl',
    either: 'd.o.o d.d',
  },
  hu: {
    inside: 'ifj id özv pl ún kb ill vö ti u',
    beforeNumber: 'sz old',
    ending: 'stb s.a.t',
    either: 'kft rt bt zrt nyrt',
  },
  tr: {
    inside: 'av doç yrd cad sok mah blv örn bkz alb gen yy org öğr sn',
    beforeNumber: 's sf',
    ending: 'vb vs vd',
    either: 'a.ş ltd şti m.ö m.s',
  },
  ru: {
    inside: 'т.е т.к ул им проф акад гр тов д-р напр пр пл пер ак с р дер пос обл просп наб бул кв мин',
    beforeNumber: 'рис стр см кв д янв февр мар апр авг сент окт нояб дек тел гл ст п оф корп ок',
    ending: 'т.д т.п др пр',
    either: 'руб тыс млн млрд гг вв н.э коп',
  },
  uk: {
    inside: 'вул ім проф акад гр напр пл пров просп бл див м с обл',
    beforeNumber: 'буд кв рис стор див тел ст гл',
    ending: 'т.д т.п ін',
    either: 'грн тис млн млрд рр',
  },
  bg: { inside: 'ул пл проф гр бул инж напр', beforeNumber: 'стр бл ап', ending: 'т.н др' },
  kk: { inside: 'т.б б.з.б', beforeNumber: 'бет' },
  el: {
    inside: 'κ κα κος π.χ δηλ βλ λ.χ',
    beforeNumber: 'αρ σελ τηλ',
    ending: 'κ.λπ κλπ κ.ά κ.α',
    either: 'π.χ μ.χ',
  },
  vi: { inside: 'ts tp pgs ths gs gs.ts pgs.ts bs ks', ending: 'v.v' },
  id: { inside: 'jl gg bpk sdr yth rp hj h', beforeNumber: 'hlm tgl', ending: 'dll dsb dst' },
  hi: { inside: 'डॉ प्रो श्री सुश्री पं' },
  ar: { inside: 'د أ م ص' },
};

const words = (...lists: (string | undefined)[]) => new Set(lists.flatMap((list) => list?.split(' ') ?? []));

function join(lists: readonly Lists[]): Abbreviations {
  return {
    inside: words(...lists.map(({ inside }) => inside)),
    beforeNumber: words(...lists.map(({ beforeNumber }) => beforeNumber)),
    ending: words(...lists.map(({ ending }) => ending)),
    either: words(...lists.map(({ either }) => either)),
  };
}

const joined = new Map(
  Object.entries(byLanguage).map(([language, lists]) => [language, join([common, lists])]),
);
const english = join([common, byLanguage.en ?? {}]);

export const abbreviationLanguages: readonly string[] = Object.keys(byLanguage);

/** A text in an unknown language has the abbreviations of English, which other languages borrow. */
export const abbreviationsOf = (language: string): Abbreviations => joined.get(language) ?? english;

/** Short words that end a sentence in a text without capitals. Other short words count as abbreviations there. */
export const shortWords: ReadonlySet<string> = new Set(
  'it us me up in on so do is be to go he we no ok my by at as if of am pm tv pc uk eu un ii'.split(' '),
);

/** Small words in names, as in "R. De Niro". They begin no sentence after an initial. */
export const nameParticles: ReadonlySet<string> = new Set(
  'de la le les du des van von der den del della da di do dos das el al ter ten los las san st y e'.split(
    ' ',
  ),
);
